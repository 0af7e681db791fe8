// A quick hash of a text, for places where nothing is proven by it and a collision costs little. Pure.

/** 32 bits, signed: `multiplier` is any odd number, and tells hashes of one text apart. */
export function hashText(text: string, multiplier: number): number {
  return hashEvery(1, text, multiplier);
}

/** The same of some characters of a long text, spread over all of it: alike texts can differ anywhere. */
export function hashSome(text: string, multiplier: number): number {
  return hashEvery(Math.min(1 + Math.floor(text.length / wholeText), longestStride), text, multiplier);
}

function hashEvery(stride: number, text: string, multiplier: number): number {
  let hash = text.length ^ multiplier;
  for (let at = 0; at < text.length; at += stride) {
    hash = Math.imul(hash ^ text.charCodeAt(at), multiplier);
    hash ^= hash >>> 15;
  }
  return hash;
}

/** Shorter ones are looked at whole. */
const wholeText = 512;
/** What is that long, a name or an address, is seen wherever it stands. */
const longestStride = 16;

/** Every bit of a hash reaches every bit of what it becomes. */
export function mixed(hash: number): number {
  let after = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad);
  after = Math.imul(after ^ (after >>> 15), 0x735a2d97);
  return after ^ (after >>> 15);
}
