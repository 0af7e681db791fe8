// docs/patches.md is made from the cases in fixtures/patches/, which `hostward test` runs, so that no recipe can be wrong.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { root } from './processes.ts';

const folder = join(root, 'fixtures/patches');
const page = join(root, 'docs/patches.md');
const read = (path: string) => readFileSync(join(folder, path), 'utf8');

/** In the order of the page beside the cases, which has a reason for each. */
const recipes = [...read('README.md').matchAll(/^\| \[([^\]]+)\]\([^)]+\) \| (.*) \|$/gm)].map(
  ([, name = '', shows = '']) => ({ name, shows }),
);

interface Sample {
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  [field: string]: unknown;
}

const samples = (path: string): Sample[] =>
  existsSync(join(folder, path)) ? parseAllDocuments(read(path)).map((one) => one.toJS() as Sample) : [];

/** Values by their place, without the marks that every copy has. */
function fields(object: unknown, place = ''): Map<string, string> {
  if (object === null || typeof object !== 'object') return new Map([[place, String(object)]]);
  const found = new Map<string, string>();
  for (const [key, value] of Object.entries(object)) {
    if (key.startsWith('vcluster.loft.sh/') || key.startsWith('hostward.dev/')) continue;
    if (place === 'metadata' && (key === 'name' || key === 'namespace')) continue;
    const step = Array.isArray(object)
      ? `[${key}]`
      : /^\w+$/.test(key)
        ? `${place === '' ? '' : '.'}${key}`
        : `["${key}"]`;
    for (const [at, one] of fields(value, `${place}${step}`)) found.set(at, one);
  }
  return found;
}

/** What became of each object, as rows of a table. */
function changes(before: readonly Sample[], after: readonly Sample[], nameOf: (name: string) => string): string[] {
  return before.flatMap((object) => {
    const copy = after.find((one) => one.metadata.name === nameOf(object.metadata.name) && one.kind === object.kind);
    if (copy === undefined) return [];
    const [from, to] = [fields(object), fields(copy)];
    const places = [...new Set([...from.keys(), ...to.keys()])].filter((place) => from.get(place) !== to.get(place));
    const cell = (value: string | undefined) =>
      value === undefined ? 'nothing' : `\`${value.replaceAll('\n', ' ')}\``;
    return places.map(
      (place) => `| ${object.metadata.name} | \`${place}\` | ${cell(from.get(place))} | ${cell(to.get(place))} |`,
    );
  });
}

const hostName = (name: string) => `${name}-x-shop-x-my-vcluster`;

function chapter({ name }: { name: string }): string[] {
  const text = read(`${name}/config.yaml`);
  const comment = /^(?:# .*\n)+/.exec(text)?.[0] ?? '';
  const says = comment.replaceAll(/^# /gm, '').trim();
  const forward = changes(samples(`${name}/virtual.yaml`), samples(`${name}/host.yaml`), hostName);
  const back = changes(samples(`${name}/back/host.yaml`), samples(`${name}/back/virtual.yaml`), (host) =>
    host.replace(/-x-shop-x-my-vcluster$/, ''),
  );
  const table = (head: string, rows: string[]) => (rows.length === 0 ? [] : ['', head, '|---|---|---|---|', ...rows]);
  return [
    ...['', `## ${name}`, '', `${says}`, '', '```yaml', text.slice(comment.length).trim(), '```'],
    ...table('| object | field | the tenant has | the host gets |', forward),
    ...table('| object | field | edited on the host | the tenant gets |', back),
  ];
}

function cookbook(): string {
  const lines = [
    '# Patches by example',
    '',
    '<!-- Made from the cases in fixtures/patches/; `UPDATE_GOLDEN=1 npm test` writes it again. -->',
    '',
    'Each recipe is a case that `hostward test` runs, with all of its objects in `fixtures/patches/` of the sources. Take the block `patches`, put',
    'it under `sync.toHost.endpoints` (or `endpointSlices`) of your configuration or of the values of the chart, and try it:',
    '',
    '```sh',
    'hostward check --config FILE',
    'hostward render --config FILE -f ENDPOINTS.yaml -o diff --explain',
    '```',
    '',
    'A patch has a `path`, and an `expression` for the way to the host, a `reverseExpression` for the way back, or both. A path that is not found',
    "is not applied. Without `reverseExpression` the field is the tenant's, and a host edit is taken back. [Settings](settings.md) has every key of an",
    'entry, [security](security.md) what an expression can do, and [migrate](migrate.md) what differs from the paid engine.',
    '',
    'Where the tenant uses `kubectl apply`, the annotation `kubectl.kubernetes.io/last-applied-configuration` repeats the unpatched object. Name it',
    'in `hostward.exclude.annotations` when a patch hides something.',
    '',
    '| recipe | what it shows |',
    '|---|---|',
    ...recipes.map(({ name, shows }) => `| [${name}](#${name}) | ${shows} |`),
    ...recipes.flatMap(chapter),
  ];
  return `${lines.join('\n')}\n`;
}

describe('docs/patches.md', () => {
  it('is made from the cases', () => {
    expect(recipes.length).toBeGreaterThan(10);
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(page, cookbook());
    expect(readFileSync(page, 'utf8')).toBe(cookbook());
  });
});
