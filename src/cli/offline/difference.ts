// Where a value is not like another one that names only what matters; each line is a path with what was wanted and found.

/** Objects: every member of `wanted`, null for "not there". Lists: same length, each element like its fellow. */
export function differences(wanted: unknown, found: unknown, path = ''): string[] {
  if (wanted === null) return found === undefined || found === null ? [] : [line(path, undefined, found)];
  if (Array.isArray(wanted)) {
    if (!Array.isArray(found) || found.length !== wanted.length) return [line(path, wanted, found)];
    return wanted.flatMap((element, index) => differences(element, found[index], `${path}[${index}]`));
  }
  if (typeof wanted === 'object') {
    // A map that lacks everything lacks what must not be there.
    const map = typeof found === 'object' && found !== null ? found : {};
    return Object.entries(wanted).flatMap(([key, value]) =>
      differences(
        value,
        Object.hasOwn(map, key) ? (map as Record<string, unknown>)[key] : undefined,
        memberPath(path, key),
      ),
    );
  }
  return wanted === found ? [] : [line(path, wanted, found)];
}

function memberPath(path: string, key: string): string {
  if (!/^[A-Za-z_]\w*$/.test(key)) return `${path}["${key}"]`;
  return path === '' ? key : `${path}.${key}`;
}

function line(path: string, wanted: unknown, found: unknown): string {
  const say = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value));
  return `${path}: wanted ${say(wanted)}, found ${say(found)}`;
}
