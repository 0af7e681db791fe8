// Compares keys by their UTF-8 bytes, like etcd and SQLite. JavaScript compares UTF-16 units, which gives another order for
// characters beyond U+FFFF.

const beyondBasicPlane = /[\ud800-\udfff]/;

export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  if (beyondBasicPlane.test(a) || beyondBasicPlane.test(b)) return compareCodePoints(a, b);
  return a < b ? -1 : 1;
}

function compareCodePoints(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  let at = 0;
  while (at < shorter && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === shorter) return a.length - b.length;
  // Surrogates must sort above all other units, because they encode code points above U+FFFF.
  const left = a.charCodeAt(at);
  const right = b.charCodeAt(at);
  const leftIsSurrogate = left >= 0xd800 && left <= 0xdfff;
  const rightIsSurrogate = right >= 0xd800 && right <= 0xdfff;
  if (leftIsSurrogate !== rightIsSurrogate) return leftIsSurrogate ? 1 : -1;
  return left - right;
}
