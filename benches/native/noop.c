/* The floor: what starting any static process costs here. */
int main(void) { return 0; }
