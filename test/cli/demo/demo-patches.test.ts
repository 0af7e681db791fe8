import { describe, expect, it } from 'vitest';
import { projectSeen } from '../../../src/cli/demo/demo-board.ts';
import { asPatched, demoConfiguration, patchLines, patchWords } from '../../../src/cli/demo/demo-patches.ts';
import { firstEndpoints, samples } from '../../../src/cli/demo/demo-samples.ts';
import { hostNamespace, virtualClusterName } from '../../../src/cli/demo/demo-story.ts';
import { renderOffline } from '../../../src/cli/offline/offline-render.ts';
import { loadConfiguration } from '../../../src/config/load/load.ts';
import { withPatches } from '../../../src/daemon/options/load-patches.ts';
import { scene } from '../scene.ts';

const loaded = withPatches(
  loadConfiguration({
    files: [{ name: 'demo', text: demoConfiguration }],
    flags: { virtualClusterName, hostNamespace },
  }),
);

describe('the patches of the demo', () => {
  it('are three valid patches, each with a description', () => {
    expect(loaded.kind).toBe('ok');
    expect(loaded.compiled.set.patches.map(({ index }) => patchWords[index])).toHaveLength(3);
    for (const line of patchLines(patchWords.map((_, patch) => ({ patch, values: 9999, changes: 9999, failures: 0 }))))
      expect(line.length).toBeLessThanOrEqual(80);
  });

  it('give the objects that the board expects', async () => {
    if (loaded.kind !== 'ok') return;
    const objects = samples.map(firstEndpoints);
    const rendered = await renderOffline(scene().context, {
      configuration: loaded,
      objects,
      hostObjects: [],
      direction: 'forward',
      withBookkeeping: true,
      isExplained: false,
    });
    expect(rendered.notices).toEqual([]);
    const host = rendered.objects.map(({ after }) => projectSeen(after.object).fingerprint);
    expect(host).toEqual(objects.map((object) => projectSeen(asPatched(object, virtualClusterName)).fingerprint));
    expect(host).not.toEqual(objects.map((object) => projectSeen(object).fingerprint));
  });
});
