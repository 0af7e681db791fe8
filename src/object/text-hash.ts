// A quick hash of a text, for places where nothing is proven by it and a collision costs little. Pure.

/** 32 bits, signed: `multiplier` is any odd number, and tells hashes of one text apart. */
export function hashText(text: string, multiplier: number): number {
  let hash = text.length ^ multiplier;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), multiplier);
    hash ^= hash >>> 15;
  }
  return hash;
}

/**
 * Of all characters of a text that has no more than `whole`, and of some of a longer one, from the last on: alike texts mostly
 * differ at their ends, but can anywhere.
 */
export function hashSome(text: string, seed: number, whole: number): number {
  const stride = Math.min(Math.ceil(text.length / whole), longestStride);
  let hash = seed ^ text.length;
  for (let at = text.length - 1; at >= 0; at -= stride) hash = Math.imul(hash, 31) + text.charCodeAt(at);
  return mixed(hash);
}

/** What differs over so many characters in a row is seen wherever it stands. */
const longestStride = 16;

/** Every bit of a hash reaches every bit of what it becomes. */
export function mixed(hash: number): number {
  let after = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad);
  after = Math.imul(after ^ (after >>> 15), 0x735a2d97);
  return after ^ (after >>> 15);
}
