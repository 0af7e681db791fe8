import { describe, expect, it } from 'vitest';
import { endpointsObject } from '../../../src/cli/demo/demo-story.ts';
import { endpointsResource } from '../../../src/cluster/wire/scope.ts';
import { copy, host, release, setUp } from './release-stage.ts';

setUp();

describe('hostward release --delete', () => {
  it('deletes a copy whose label somebody has changed or taken away, because the daemon takes it for ours too', async () => {
    for (const [name, labels] of [
      ['relabelled', { 'vcluster.loft.sh/managed-by': 'other' }],
      ['unlabelled', {}],
    ] as const) {
      const object = copy(name);
      await host.create(endpointsResource, { ...object, metadata: { ...object.metadata, labels } });
    }
    const native = endpointsObject('vcluster-vc', 'native', ['10.0.0.9'], { app: 'x' });
    await host.create(endpointsResource, native);
    const { code, out } = await release('--delete');
    expect(code).toBe(0);
    expect(out).toContain('deleted vcluster-vc/relabelled-x-shop-x-vc\n');
    expect(out).toContain('deleted vcluster-vc/unlabelled-x-shop-x-vc\n');
    expect(out).toContain('3 deleted, 3 left alone, 0 failed\n');
    expect(out).not.toContain('native');
  });

  it('says that nothing bears the marks, where a name is misspelt', async () => {
    const { code, out, err } = await release('--delete', '--vcluster-name', 'vd');
    expect([code, out]).toEqual([0, '0 deleted, 0 left alone, 0 failed\n']);
    expect(err).toBe(
      'nothing in namespace vcluster-vc bears the marks of a virtual cluster "vd"; if there should be copies, check --vcluster-name and --host-namespace\n',
    );
  });

  it('ends with 3 where the namespace does not exist', async () => {
    const { code, out, err } = await release('--delete', '--host-namespace', 'vcluster-vd');
    expect([code, out]).toEqual([3, '']);
    expect(err).toContain('the host has no namespace "vcluster-vd"');
  });

  it('says nothing of the kind when copies are there that need nothing', async () => {
    await release();
    expect((await release()).err).toBe('');
  });
});
