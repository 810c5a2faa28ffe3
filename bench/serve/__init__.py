"""The server: how quick, how fair, how steady, how safe."""
