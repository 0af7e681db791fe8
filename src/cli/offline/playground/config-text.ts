// Makes a whole configuration of a text that holds only the list of patches, as people copy it. In: the text. Out: a configuration,
// and the way back from its positions to those of the text. Pure.

export interface ConfigText {
  text: string;
  /** The place in the text of the user. */
  placeOf(line: number, column: number): { line: number; column: number };
  /** A message in which the positions are those of the text. */
  relocated(message: string): string;
}

/** The name that positions in messages carry. */
export const configName = 'config.yaml';

/** The first line that says something begins an item of a list, or a list in brackets. */
const bareList = /^(?:[ \t]*(?:#[^\n]*)?\r?\n)*([ \t]*)(?:-(?:[ \t]|\r?\n|$)|\[)/;

const saysNothing = /^(?:\s|#.*)*$/;

export function configText(given: string, { kind }: { kind: 'endpoints' | 'endpointSlices' }): ConfigText {
  if (!bareList.test(given)) {
    // A loader of files refuses an empty one, but whoever begins to write has written nothing yet.
    const text = saysNothing.test(given) ? `${given}\n{}\n` : given;
    return { text, placeOf: (line, column) => ({ line, column }), relocated: (said) => said };
  }
  // Says who writes, so that the downloaded file is whole.
  const head = [
    'hostward:',
    `  ${kind}: {enabled: true}`,
    'sync:',
    '  toHost:',
    `    ${kind === 'endpoints' ? 'endpointSlices' : 'endpoints'}: {enabled: false}`,
    `    ${kind}:`,
    '      enabled: false',
    '      patches:',
  ];
  const indent = ' '.repeat(8);
  const text = `${head.join('\n')}\n${given.replace(/^(?=[^\r\n])/gm, indent)}`;
  const placeOf = (line: number, column: number) => ({
    line: Math.max(1, line - head.length),
    column: line <= head.length ? 1 : Math.max(1, column - indent.length),
  });
  const relocated = (message: string) =>
    message
      .replace(/\bconfig\.yaml:(\d+):(\d+)/g, (_, line: string, column: string) => {
        const place = placeOf(Number(line), Number(column));
        return `${configName}:${place.line}:${place.column}`;
      })
      .replace(/\(first in line (\d+)\)/g, (_, line: string) => `(first in line ${placeOf(Number(line), 1).line})`);
  return { text, placeOf, relocated };
}

/** A list of patches is for the kind of the object next to it. */
export function kindOfList(virtual: string): 'endpoints' | 'endpointSlices' {
  return /^[ \t{]*"?kind"?:[ \t]*["']?EndpointSlice\b/m.test(virtual) ? 'endpointSlices' : 'endpoints';
}
