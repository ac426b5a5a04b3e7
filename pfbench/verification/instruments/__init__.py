"""Problems on which claims bind, with constants and minimisers known exactly; scripted draws."""
