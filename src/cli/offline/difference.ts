// Compares a value with a pattern that names only the members that matter. Each difference is one line: `path: wanted …, found …`.

/** Objects must have every member of `wanted`, where null means absent. Lists must have the same length. */
export function differences(wanted: unknown, found: unknown, path = ''): string[] {
  if (wanted === null) return found === undefined || found === null ? [] : [line(path, undefined, found)];
  if (Array.isArray(wanted)) {
    if (!Array.isArray(found) || found.length !== wanted.length) return [line(path, wanted, found)];
    return wanted.flatMap((element, index) => differences(element, found[index], `${path}[${index}]`));
  }
  if (typeof wanted === 'object') {
    // A missing map passes where every wanted member is absent.
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
