// Paths into a configuration: keys and list positions, and how they are spelt for people.

export type SettingsPath = readonly (string | number)[];

/** Longer keys are cut: a path stands in the sentence of a fault. */
const shownKeyLength = 80;

/** `sync.toHost.endpoints.patches[0].path`; keys with anything unusual in them stand in quoted brackets. */
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
