"""The stages that write down what is said and what is written on the screen."""
