"""From a document to checked tools: decode, shape, read, resolve, scope, types, price, advice, faces."""
