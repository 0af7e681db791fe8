import { describe, expect, it } from 'vitest';
import { settingChanges } from '../../../src/config/load/difference.ts';
import { loadConfiguration } from '../../../src/config/load/load.ts';
import { type Setting, settingsTable } from '../../../src/config/settings/table/table.ts';
import { report } from '../loading.ts';

/** Without flags and environment, so that the file decides about the names. */
function withNames(tree: Record<string, unknown>): string {
  const own = { virtualClusterName: 'vc', hostNamespace: 'ns', ...(tree['hostward'] as object | undefined) };
  return JSON.stringify({ ...tree, hostward: own });
}

function waitingIn(first: string, second: string): string[] {
  const load = (text: string) => {
    const loaded = loadConfiguration({ files: [{ name: 'v.yaml', text }] });
    if (loaded.kind === 'faults') throw new Error(report(loaded));
    return loaded.settings;
  };
  const changes = settingChanges(load(first), load(second));
  return changes.filter(({ needsRestart }) => needsRestart).flatMap(({ paths }) => paths);
}

/** Two valid values of a setting. */
function twoValues({ shape }: Setting): readonly [unknown, unknown] {
  if (shape.kind === 'text' && shape.rule === 'url') return ['https://a.example.com', 'https://b.example.com'];
  switch (shape.kind) {
    case 'boolean':
      return [true, false];
    case 'choice':
      return [shape.of[0], shape.of[1]];
    case 'integer':
      return [Math.max(11, shape.from), Math.max(11, shape.from) + 1];
    case 'number':
      return [11, 12];
    case 'texts':
      return [[], ['b.example.com']];
    case 'pairs':
      return [{}, { a: 'b' }];
    case 'text': {
      if (shape.rule === 'listen') return ['127.0.0.1:1', '127.0.0.1:2'];
      return shape.rule === 'interval' ? ['1s', '2s'] : ['one', 'two'];
    }
    default:
      throw new Error(`no two values of a ${shape.kind}`);
  }
}

/** A tree with the setting, and with the settings that a valid configuration has beside it. */
function treeWith(path: string, value: unknown): Record<string, unknown> {
  if (path === 'sync.toHost.namespaces.enabled')
    return { sync: { toHost: { namespaces: { enabled: value, mappings: { byName: { a: 'b' } } } } } };
  const [first = '', ...rest] = path.split('.');
  const besides: Record<string, object> = { certificate: { key: 'k' }, key: { certificate: 'c' } };
  const isOfStore = first === 'kubernetes' && rest[0] === 'kubeconfig';
  const pair = isOfStore ? { namespace: 'n' } : (besides[rest.at(-1) ?? ''] ?? {});
  if (rest.length === 1) return { [first]: { ...pair, [rest[0] as string]: value } };
  return { [first]: treeWith(rest.join('.'), value) };
}

const waitForRestart = settingsTable.filter(
  ({ path, change, field, shape }) =>
    change === 'restart' &&
    field !== 'direct' &&
    !path.includes('[]') &&
    !['map', 'list'].includes(shape.kind) &&
    // Read by vCluster alone.
    !path.endsWith('.extraLabels'),
);

describe('the settings that changed', () => {
  it.each(waitForRestart)('are named one by one: $path', (row) => {
    const [first, second] = twoValues(row).map((value) => withNames(treeWith(row.path, value)));
    expect(waitingIn(first as string, second as string)).toEqual([row.path]);
  });

  it('are one block when a block comes or goes', () => {
    const without = withNames({ hostward: { endpoints: { enabled: true } } });
    const block = (management: object) => withNames({ hostward: { endpoints: { enabled: true }, management } });
    const tls = { certificate: 'c', key: 'k' };
    expect(waitingIn(without, block({ tls }))).toEqual(['hostward.management']);
    expect(waitingIn(block({ tls }), without)).toEqual(['hostward.management']);
    expect(waitingIn(block({}), block({ tls }))).toEqual(['hostward.management.tls']);
  });

  it('do not hold a base URL that follows the port', () => {
    const at = (listen: string) => withNames({ hostward: { endpoints: { enabled: true }, management: { listen } } });
    expect(waitingIn(at('127.0.0.1:1'), at('127.0.0.1:2'))).toEqual(['hostward.management.listen']);
  });

  it('do not wait when another command reads them', () => {
    const direct = (silence: number) => ({ cluster: 'c', platform: 'https://p', keyFile: 'k', silence });
    const at = (silence: number) => withNames({ hostward: { endpoints: { enabled: true }, direct: direct(silence) } });
    expect(waitingIn(at(11), at(12))).toEqual([]);
  });
});
