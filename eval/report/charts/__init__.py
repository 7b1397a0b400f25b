"""Charts as inline SVG: drawn here, coloured by the page's style sheet, each mark a button for the episodes behind it."""
