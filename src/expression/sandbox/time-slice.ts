// How long a request may run at first, while others wait behind it. Nearly all requests take a millisecond; those that take
// longer get their whole time later, alone.

const leastMs = 25;
/** Reading and writing the text alone takes a millisecond for 20,000 characters on a slow machine. */
const charsOfMs = 5_000;

export function firstSliceMs(chars: number): number {
  return leastMs + Math.ceil(chars / charsOfMs);
}
