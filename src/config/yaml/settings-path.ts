// Paths into a configuration: keys and list positions, and how they are spelt for people.

export type SettingsPath = readonly (string | number)[];

/** `sync.toHost.endpoints.patches[0].path`; keys with anything unusual in them stand in quoted brackets. */
export function showPath(path: SettingsPath): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[\w-]+$/.test(part)) text += text === '' ? part : `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text;
}
