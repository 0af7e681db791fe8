// Texts of tenants in messages: enough to find the place, never the whole of what may be a secret, and nothing that moves the
// cursor of a terminal. Pure.

/** Where in an object, key by key. */
export type ObjectPath = readonly (string | number)[];

/** Longer keys are no names that anybody chose. */
const keyLength = 40;
/** A path of a few such keys. */
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
