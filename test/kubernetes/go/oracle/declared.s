// Functions without a body are declared in this package: with an assembly file in it, even an empty one, the compiler lets them be.
