"""What the rule-based chat model knows: questions, tool schemas, tool results and wording."""
