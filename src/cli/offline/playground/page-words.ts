// Says for the page what a message says for the command line: a reader of the page has texts in front of them, no files and no options.
// In: the message of check. Out: the message of the page. Pure.

/** What only a command line can do, and what the page says instead. */
export const rewordings: readonly (readonly [RegExp, string])[] = [
  [/put the second document into a separate file and give --config twice/, 'keep one of the documents here'],
  [
    /put the patches into a separate file and give --config twice/,
    'keep the patches in a file of their own, beside the one that vCluster reads',
  ],
  [
    /copy the configuration out of its ConfigMap into a separate file/,
    'keep only the configuration inside its ConfigMap',
  ],
  [/save it as UTF-8/, 'take the character out, or write it anew'],
  [/give a file with the settings inside the object/, 'keep only the settings inside the object'],
  [/write the text below data and (.+) into a file of its own/, 'keep only the text below data and $1'],
  [/put the content of (".*") into a separate file/, 'keep only the content of $1'],
  [/\bmap of settings at the top of the file\b/, 'map of settings at the top of the text'],
  [/\bthe file (is empty|has more than)\b/, 'the text $1'],
  [/give --host-namespace (\S+)/, 'set hostward.hostNamespace to $1'],
  [/\((config\.yaml):(\d+):(\d+)\)/, '(line $2, column $3)'],
  [/split the file/, 'leave something out'],
  [/use hostward eval to try an expression/, 'the page shows what it gives at each place'],
  [/use hostward eval or render --explain to see values/, 'the page shows the values at each place'],
  [
    /mend it, or try it on a value of yours with `hostward eval`; an object/,
    'mend it, or try it on an object of yours here; an object',
  ],
];

export function pageWords(message: string): string {
  return rewordings.reduce((said, [there, here]) => said.replace(there, here), message);
}
