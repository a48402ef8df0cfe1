"""The policy of the agent: what is traced, what it is called, and when it is found."""
