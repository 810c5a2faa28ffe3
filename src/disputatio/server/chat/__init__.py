"""The OpenAI-compatible door: strategies as models, chats as questions, citations as annotations."""
