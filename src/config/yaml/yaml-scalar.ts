// Reads a plain YAML scalar as the parser of vCluster does: YAML 1.1 in Go, where yes and on are booleans, 0777 is octal,
// and neither dates nor base-60 numbers exist. So a file has the same meaning for Hostward and vCluster.

const truths = new Set(['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON']);
const untruths = new Set(['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF']);
const nulls = new Set(['', '~', 'null', 'Null', 'NULL']);

const integers: [RegExp, (digits: string) => number][] = [
  [/^[-+]?0[xX][0-9a-fA-F]+$/, (digits) => Number.parseInt(digits.slice(2), 16)],
  [/^[-+]?0[bB][01]+$/, (digits) => Number.parseInt(digits.slice(2), 2)],
  [/^[-+]?0[oO][0-7]+$/, (digits) => Number.parseInt(digits.slice(2), 8)],
  [/^[-+]?0[0-7]+$/, (digits) => Number.parseInt(digits, 8)],
  [/^[-+]?(0|[1-9][0-9]*)$/, (digits) => Number.parseInt(digits, 10)],
];
const decimal = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;

export function plainScalar(text: string): string | number | boolean | null {
  if (nulls.has(text)) return null;
  if (truths.has(text)) return true;
  if (untruths.has(text)) return false;
  // Every number begins with one of these characters, so most texts need no further test.
  if (!/^[-+.0-9]/.test(text)) return text;
  const digits = text.replaceAll('_', '');
  for (const [form, read] of integers) {
    if (!form.test(digits)) continue;
    const negative = digits.startsWith('-');
    const size = read(digits.replace(/^[-+]/, ''));
    return negative && size !== 0 ? -size : size;
  }
  return decimal.test(digits) && /[0-9]/.test(digits) ? Number(digits) : text;
}

/** Where a text is wanted, a number or boolean becomes a text: `path: 5` is the path "5", as in vCluster. */
export function scalarText(value: string | number | boolean): string {
  return String(value);
}
