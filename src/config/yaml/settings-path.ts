// Paths into a configuration, made of keys and list positions, and their text for people.

export type SettingsPath = readonly (string | number)[];

/** Longer keys are cut, because a path is part of a sentence. */
const shownKeyLength = 80;

/** `sync.toHost.endpoints.patches[0].path`; a key with unusual characters is quoted in brackets. */
export function showPath(path: SettingsPath): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') {
      text += `[${part}]`;
      continue;
    }
    const key = part.length > shownKeyLength ? `${part.slice(0, shownKeyLength)}…` : part;
    if (/^[\w-]+$/.test(key)) text += text === '' ? key : `.${key}`;
    else text += `[${JSON.stringify(key)}]`;
  }
  return text;
}
