// Code that runs inside the isolate: atob, btoa and SHA-256. Base64 holds UTF-8, as in Kubernetes and in the base64 command; the
// functions of a browser would refuse text outside Latin-1.

export const realmFunctions = `
const utf8Of = (text) => {
  const bytes = [];
  for (let at = 0; at < text.length; at++) {
    let code = charCodeAt(text, at);
    if (code >= 0xd800 && code <= 0xdbff && at + 1 < text.length) {
      const low = charCodeAt(text, at + 1);
      if (low >= 0xdc00 && low <= 0xdfff) {
        code = 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
        at++;
      }
    }
    // Half of a surrogate pair (an emoji cut in two) is not a character, so encoders write U+FFFD instead.
    if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
    if (code < 0x80) bytes[bytes.length] = code;
    else if (code < 0x800) {
      bytes[bytes.length] = 0xc0 | (code >> 6);
      bytes[bytes.length] = 0x80 | (code & 63);
    } else if (code < 0x10000) {
      bytes[bytes.length] = 0xe0 | (code >> 12);
      bytes[bytes.length] = 0x80 | ((code >> 6) & 63);
      bytes[bytes.length] = 0x80 | (code & 63);
    } else {
      bytes[bytes.length] = 0xf0 | (code >> 18);
      bytes[bytes.length] = 0x80 | ((code >> 12) & 63);
      bytes[bytes.length] = 0x80 | ((code >> 6) & 63);
      bytes[bytes.length] = 0x80 | (code & 63);
    }
  }
  return bytes;
};
const textOfUtf8 = (bytes) => {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at++];
    const more = first < 0x80 ? 0 : first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : -1;
    let code = more <= 0 ? first : first & (0x3f >> more);
    for (let left = more; left > 0; left--) {
      const next = bytes[at++];
      if (next === undefined || next >> 6 !== 2) return undefined;
      code = (code << 6) | (next & 63);
    }
    const least = [0, 0x80, 0x800, 0x10000][more];
    if (more < 0 || code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return undefined;
    if (code < 0x10000) text += fromCharCode(code);
    else text += fromCharCode(0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff));
  }
  return text;
};
const base64Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const base64Values = [];
for (let at = 0; at < 64; at++) base64Values[charCodeAt(base64Digits, at)] = at;

const wantedText = (name, x) => {
  if (typeof x === 'string') return matchable(x, 'text for ' + name + '()');
  if (typeof x === 'number' || typeof x === 'boolean') return NativeString(x);
  throw new TypeFault(name + '() needs a text; check that the value exists first');
};
const ownFunctions = {
  btoa(x) {
    const bytes = utf8Of(wantedText('btoa', x));
    let text = '';
    for (let at = 0; at < bytes.length; at += 3) {
      const left = bytes.length - at;
      const bits = (bytes[at] << 16) | (left > 1 ? bytes[at + 1] << 8 : 0) | (left > 2 ? bytes[at + 2] : 0);
      text += base64Digits[bits >> 18] + base64Digits[(bits >> 12) & 63];
      text += (left > 1 ? base64Digits[(bits >> 6) & 63] : '=') + (left > 2 ? base64Digits[bits & 63] : '=');
    }
    return text;
  },
  atob(x) {
    const source = wantedText('atob', x);
    const bytes = [];
    let bits = 0, count = 0, padding = 0;
    for (let at = 0; at < source.length; at++) {
      const code = charCodeAt(source, at);
      if (code === 32 || (code >= 9 && code <= 13 && code !== 11)) continue;
      if (code === 61) {
        padding++;
        continue;
      }
      const value = base64Values[code];
      if (value === undefined || padding > 0) throw new TypeFault('atob() needs base64');
      bits = ((bits & 0xfff) << 6) | value;
      count++;
      if (count % 4 !== 1) bytes[bytes.length] = (bits >> [0, 0, 4, 2][count % 4]) & 255;
    }
    if (count % 4 === 1 || padding > 2 || (padding > 0 && (count + padding) % 4 !== 0)) throw new TypeFault('atob() needs base64');
    const text = textOfUtf8(bytes);
    if (text === undefined) throw new TypeFault('atob() needs base64 of UTF-8 text');
    return text;
  },
};

// FIPS 180-4.
const roundConstants = [], startState = [];
const fraction = (x) => ((x - floor(x)) * 0x100000000) | 0;
for (let candidate = 2; roundConstants.length < 64; candidate++) {
  let isPrime = true;
  for (let factor = 2; factor * factor <= candidate; factor++) if (candidate % factor === 0) isPrime = false;
  if (!isPrime) continue;
  if (startState.length < 8) startState[startState.length] = fraction(candidate ** (1 / 2));
  roundConstants[roundConstants.length] = fraction(candidate ** (1 / 3));
}
const sha256Hex = (text) => {
  const bytes = utf8Of(matchable(stringOf(text), 'text to hash'));
  const bitLength = bytes.length * 8;
  bytes[bytes.length] = 0x80;
  while (bytes.length % 64 !== 56) bytes[bytes.length] = 0;
  for (const word of [floor(bitLength / 0x100000000), bitLength]) {
    for (let shift = 24; shift >= 0; shift -= 8) bytes[bytes.length] = (word >>> shift) & 255;
  }
  const turn = (x, by) => (x >>> by) | (x << (32 - by));
  const state = [...startState];
  const words = [];
  for (let start = 0; start < bytes.length; start += 64) {
    for (let t = 0; t < 64; t++) {
      if (t < 16) {
        const at = start + t * 4;
        words[t] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
        continue;
      }
      const [w15, w2] = [words[t - 15], words[t - 2]];
      const s0 = turn(w15, 7) ^ turn(w15, 18) ^ (w15 >>> 3);
      const s1 = turn(w2, 17) ^ turn(w2, 19) ^ (w2 >>> 10);
      words[t] = (words[t - 16] + s0 + words[t - 7] + s1) | 0;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let t = 0; t < 64; t++) {
      const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
      const one = (h + s1 + ((e & f) ^ (~e & g)) + roundConstants[t] + words[t]) | 0;
      const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
      const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    const round = [a, b, c, d, e, f, g, h];
    for (let at = 0; at < 8; at++) state[at] = (state[at] + round[at]) | 0;
  }
  let hex = '';
  for (let at = 0; at < 8; at++) {
    for (let shift = 28; shift >= 0; shift -= 4) hex += '0123456789abcdef'[(state[at] >>> shift) & 15];
  }
  return hex;
};
`;
