"""Pass 6: advice that stops nothing: what makes a sound tool less useful than it could be."""
