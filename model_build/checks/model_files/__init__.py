"""What model files say of themselves, read without the frameworks that wrote them."""
