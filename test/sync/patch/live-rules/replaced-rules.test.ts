// A reload replaces the rules while an expression of the old ones runs, or while a write waits for its turn: nothing is written by them any
// more, in either direction. What the old ones could not carry back is carried by the new ones.
import { expect, it } from 'vitest';
import type { SandboxSetup } from '../../../../src/expression/realm/harness.ts';
import type { Sandbox } from '../../../../src/expression/sandbox/sandbox.ts';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createRules } from '../../../../src/sync/loop/pass/rules.ts';
import { InProcessSandbox } from '../../../expression/in-process-sandbox.ts';
import { settle } from '../../../virtual-clock.ts';
import { holdableWrites } from '../../fake-cluster.ts';
import { defaultSettings, edit, endpoints, putPair } from '../../fake-sync.ts';
import { entry, openTestPatcher } from '../fake-patch.ts';
import { annotations, setUp, start, virtual, world } from './stage.ts';

setUp();

/** Keeps its answers back between `hold` and `release`. */
function lateSandbox() {
  let held: Promise<void> | undefined;
  let release = (): void => {};
  const openSandbox = (setup: SandboxSetup): Sandbox => {
    const inner = new InProcessSandbox(setup);
    return {
      start: () => inner.start(),
      stop: () => inner.stop(),
      run: async (text) => {
        const outcome = await inner.run(text);
        await held;
        return outcome;
      },
    };
  };
  return {
    openSandbox,
    hold: () => {
      held = new Promise((resolve) => {
        release = resolve;
      });
    },
    release: () => release(),
  };
}

const by = (mark: string, more: Partial<Parameters<typeof entry>[0]> = {}) =>
  entry({ path: 'metadata.annotations.k', expression: `"${mark}-" + value`, ...more });

async function replacedBy(next: ReturnType<typeof by>): Promise<void> {
  const opened = openTestPatcher([next]);
  await opened.start();
  world.sync.setRules(createRules(endpointsKind, defaultSettings, { patcher: opened.patcher }));
}

it('writes nothing to the host by the old rules', async () => {
  const late = lateSandbox();
  await start({ patches: [by('old')], openSandbox: late.openSandbox }, (w) =>
    putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }),
  );
  expect(annotations(world.copy('web'))).toMatchObject({ k: 'old-v' });
  late.hold();
  world.virtual.put('endpoints', endpoints('web', '10.0.0.1', { annotations: { k: 'w' } }));
  await settle();
  await replacedBy(by('new'));
  world.host.writes.length = 0;
  await world.change(() => late.release());
  expect(annotations(world.copy('web'))).toMatchObject({ k: 'new-w' });
  expect(world.host.writes).toHaveLength(1);
});

it('writes nothing to the tenant by the old rules', async () => {
  const late = lateSandbox();
  const both = by('old', { reverseExpression: 'value.slice(4)' });
  await start({ patches: [both], openSandbox: late.openSandbox }, (w) =>
    putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }),
  );
  late.hold();
  edit(world.host, world.copy('web'), ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, k: 'old-edited' };
  });
  await settle();
  // Without a reverse expression the field is the tenant's.
  await replacedBy(by('new'));
  world.virtual.writes.length = 0;
  await world.change(() => late.release());
  expect(virtual('web')?.metadata.annotations).toMatchObject({ k: 'v' });
  expect(world.virtual.writes).toEqual([]);
  expect(annotations(world.copy('web'))).toMatchObject({ k: 'new-v' });
});

it('sends no write to the host that waited for its turn, and no create', async () => {
  let writes: ReturnType<typeof holdableWrites> | undefined;
  await start({ patches: [by('old')] }, (w) => {
    writes = holdableWrites(w.host);
    putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } });
  });
  writes?.hold();
  world.virtual.put('endpoints', endpoints('web', '10.0.0.1', { annotations: { k: 'w' } }));
  putPair(world, 'api', '10.0.0.2', { annotations: { k: 'x' } });
  await settle();
  world.host.writes.length = 0;
  await replacedBy(by('new'));
  await world.change(() => writes?.release());
  const [web, api] = [world.copy('web'), world.copy('api')];
  expect([annotations(web)['k'], annotations(api)['k']]).toEqual(['new-w', 'new-x']);
  expect(world.host.writes).toHaveLength(2);
});

it('sends no write to the tenant that waited for its turn', async () => {
  let writes: ReturnType<typeof holdableWrites> | undefined;
  await start({ patches: [by('old', { reverseExpression: 'value.slice(4)' })] }, (w) => {
    writes = holdableWrites(w.virtual);
    putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } });
  });
  writes?.hold();
  edit(world.host, world.copy('web'), ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, k: 'old-edited' };
  });
  await settle();
  await replacedBy(by('new'));
  world.virtual.writes.length = 0;
  await world.change(() => writes?.release());
  expect(virtual('web')?.metadata.annotations).toMatchObject({ k: 'v' });
  expect(world.virtual.writes).toEqual([]);
  expect(annotations(world.copy('web'))).toMatchObject({ k: 'new-v' });
});

it('deletes what is gone all the same, once', async () => {
  let writes: ReturnType<typeof holdableWrites> | undefined;
  await start({ patches: [by('old')] }, (w) => {
    writes = holdableWrites(w.host);
    putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } });
  });
  writes?.hold();
  world.host.writes.length = 0;
  world.virtual.remove('endpoints', 'default', 'web');
  await settle();
  await replacedBy(by('new'));
  await world.change(() => writes?.release());
  expect(world.copy('web')).toBeUndefined();
  expect(world.host.writes).toHaveLength(1);
});

it('carries back what the host has added and the old rules could not reverse', async () => {
  const broken = by('old', { reverseExpression: 'null.lost' });
  await start({ patches: [broken] }, (w) => putPair(w, 'web', '10.0.0.1'));
  await world.change(() =>
    edit(world.host, world.copy('web'), ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, k: 'added' };
    }),
  );
  expect(annotations(virtual())['k']).toBeUndefined();
  expect(annotations(world.copy('web'))['k']).toBe('added');
  expect(world.eventReasons()).toEqual(['BackflowFailed']);
  await replacedBy(entry({ path: 'metadata.annotations.other', expression: 'value' }));
  await world.change(() => world.sync.enqueueAll());
  expect(annotations(virtual())['k']).toBe('added');
  expect(annotations(world.copy('web'))['k']).toBe('added');
});
