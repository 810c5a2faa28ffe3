"""How the small encoder of this project is trained, exported and measured: no part of the package."""
