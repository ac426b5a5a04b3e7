"""Problems with exact constants on which claims are nearly attained; enumerable draws."""
