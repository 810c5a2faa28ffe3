"""The OpenAI-compatible API: strategies as models, chats as questions, citations as annotations."""
