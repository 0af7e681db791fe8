// Shortens tenants' texts for messages: long enough to find the field, never a whole value that may be a secret, and without
// control characters, which could rewrite a terminal. Pure.

/** The path to a field inside an object, key by key. */
export type ObjectPath = readonly (string | number)[];

/** Keys that people choose are shorter. */
const keyLength = 40;
/** Long enough for a path of a few keys. */
const placeLength = 200;

export function shownKey(key: string): string {
  const plain = withoutControls(key);
  return plain.length <= keyLength ? plain : `${plain.slice(0, keyLength / 2)}… (${key.length} characters)`;
}

export function shownPlace(place: string): string {
  const plain = withoutControls(place);
  return plain.length <= placeLength ? plain : `${plain.slice(0, placeLength)}…`;
}

function withoutControls(text: string): string {
  return text.slice(0, placeLength + 1).replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}
