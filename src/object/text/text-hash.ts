// A fast hash of a text, for uses where a collision is cheap and the hash proves nothing. Pure.

/** A signed hash of 32 bits. Different odd multipliers give independent hashes of one text. */
export function hashText(text: string, multiplier: number): number {
  let hash = text.length ^ multiplier;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), multiplier);
    hash ^= hash >>> 15;
  }
  return hash;
}

/** Mixes the bits, so that every bit of the hash influences every bit of the result. */
export function mixed(hash: number): number {
  let after = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad);
  after = Math.imul(after ^ (after >>> 15), 0x735a2d97);
  return after ^ (after >>> 15);
}
