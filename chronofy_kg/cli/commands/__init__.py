"""The commands, one module for each group: what they take, which call of the knowledge base they make."""
