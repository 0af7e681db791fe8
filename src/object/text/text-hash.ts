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

/** Every bit of a hash reaches every bit of what it becomes. */
export function mixed(hash: number): number {
  let after = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad);
  after = Math.imul(after ^ (after >>> 15), 0x735a2d97);
  return after ^ (after >>> 15);
}
