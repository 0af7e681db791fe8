import { describe, expect, it } from 'vitest';
import type { SandboxSetup } from '../../../../src/expression/realm/harness.ts';
import type { Sandbox, SandboxOutcome } from '../../../../src/expression/sandbox/sandbox.ts';
import { patchedObjectStatus } from '../../../../src/sync/report/object-status.ts';
import { syncStatus } from '../../../../src/sync/report/status.ts';
import { InProcessSandbox } from '../../../expression/in-process-sandbox.ts';
import { settle } from '../../../virtual-clock.ts';
import { edit, endpoints, ipOf, putPair } from '../../fake-sync.ts';
import { entry } from '../fake-patch.ts';
import { annotations, setUp, start, virtual, world } from './stage.ts';

setUp();

/** Answers nothing any more after `holdBack`, until it is stopped. */
function endingSandbox() {
  let isHeld = false;
  const held: ((outcome: SandboxOutcome) => void)[] = [];
  const unavailable: SandboxOutcome = { kind: 'unavailable', message: 'the sandbox was stopped' };
  const openSandbox = (setup: SandboxSetup): Sandbox => {
    const inner = new InProcessSandbox(setup);
    let isStopped = false;
    return {
      start: () => inner.start(),
      stop: async () => {
        isStopped = true;
        for (const settleOne of held.splice(0)) settleOne(unavailable);
      },
      run: (text) => {
        if (isStopped) return Promise.resolve(unavailable);
        return isHeld ? new Promise((resolve) => held.push(resolve)) : inner.run(text);
      },
    };
  };
  return {
    openSandbox,
    holdBack: () => {
      isHeld = true;
    },
  };
}

describe('failure policy', () => {
  const failing = (onError: 'fail' | 'skip' | 'keepLast') =>
    entry({ path: 'metadata.annotations.k', expression: 'value.nope.deep', onError });

  it('fail: nothing is created, the tenant is told, other objects go on', async () => {
    await start({ patches: [failing('fail')] }, (w) => {
      putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } });
      putPair(w, 'other');
    });
    expect(world.copy('web')).toBeUndefined();
    expect(world.copy('other')).toBeDefined();
    expect(world.eventReasons()).toEqual(['PatchFailed']);
    expect(world.sync.ledger.entry('default/web')?.outcome).toMatchObject({
      reason: 'PatchFailed',
      failure: { patch: 0, at: 'metadata.annotations.k', class: 'threw' },
    });
  });

  it('fail: the old copy stays as it was, and deletes still happen', async () => {
    const sometimes = entry({
      path: 'metadata.annotations.k',
      expression: 'value === "bad" ? value.nope.deep : value',
    });
    await start({ patches: [sometimes] }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'good' } }));
    await world.change(() =>
      world.virtual.put('endpoints', { ...endpoints('web', '10.0.0.2', { annotations: { k: 'bad' } }) }),
    );
    expect(ipOf(world.copy('web'))).toBe('10.0.0.1');
    expect(world.eventReasons()).toEqual(['PatchFailed']);
    await world.change(() => world.virtual.remove('endpoints', 'default', 'web'));
    expect(world.copy('web')).toBeUndefined();
  });

  it('fail: a failure that the sandbox or another object may have caused is tried again without any change', async () => {
    let answers: SandboxOutcome[] = [];
    const openSandbox = (setup: SandboxSetup): Sandbox => {
      const inner = new InProcessSandbox(setup);
      const run = async (text: string) => answers.shift() ?? inner.run(text);
      return { start: () => inner.start(), stop: () => inner.stop(), run };
    };
    answers = [{ kind: 'unavailable', message: 'the sandbox is not running' }];
    const patches = [entry({ path: 'metadata.annotations.k', expression: '"p-" + value' })];
    await start({ patches, openSandbox }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }));
    expect(world.copy('web')).toBeUndefined();
    expect(world.eventReasons()).toEqual(['PatchFailed']);
    await world.clock.advance(1_000);
    await world.quiet();
    expect(annotations(world.copy('web'))['k']).toBe('p-v');
    answers = [{ kind: 'timeout' }];
    await world.change(() => putPair(world, 'web', '10.0.0.1', { annotations: { k: 'slow' } }));
    expect(annotations(world.copy('web'))['k']).toBe('p-v');
    await world.clock.advance(1_000);
    await world.quiet();
    expect(annotations(world.copy('web'))['k']).toBe('p-slow');
  });

  it('skip: this entry is left out', async () => {
    await start({ patches: [failing('skip')] }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }));
    expect(annotations(world.copy('web'))['k']).toBe('v');
  });

  it.each([
    ['skip', 'the value is left as it is'],
    ['keepLast', 'the host keeps its value'],
  ] as const)('%s: the tenant and the operator learn once what was left out', async (onError, instead) => {
    const expression = 'value === "bad" ? value.nope.deep : "ok-" + value';
    const lenient = entry({ path: 'metadata.annotations.k', expression, onError });
    await start({ patches: [lenient] }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'good' } }));
    const failure = async () => (await patchedObjectStatus(world.sync, 'default/web'))?.patchFailure;
    expect([world.eventReasons(), await failure(), syncStatus(world.sync).trouble]).toEqual([[], undefined, []]);
    const change = (k: string, ip: string) => world.change(() => putPair(world, 'web', ip, { annotations: { k } }));
    await change('bad', '10.0.0.2');
    await change('bad', '10.0.0.3');
    expect(ipOf(world.copy('web'))).toBe('10.0.0.3');
    const events = world.virtual.list('events');
    expect(events.map(({ reason, count }) => [reason, count])).toEqual([['PatchFailed', 1]]);
    expect(events[0]?.['message']).toContain(instead);
    expect(await failure()).toMatchObject({ patch: 0, class: 'threw', message: expect.stringContaining(instead) });
    expect(syncStatus(world.sync).trouble).toEqual([
      {
        object: 'default/web',
        hostObject: 'vcluster-vc/web-x-default-x-vc',
        state: 'inSync/PatchFailed',
        message: expect.stringContaining('patch 0 failed'),
      },
    ]);
    await change('good', '10.0.0.3');
    expect([await failure(), syncStatus(world.sync).trouble]).toEqual([undefined, []]);
  });

  it('skip: a failure that the sandbox may have caused is tried again without any change', async () => {
    let isUp = false;
    const openSandbox = (setup: SandboxSetup): Sandbox => {
      const inner = new InProcessSandbox(setup);
      const run = async (text: string): Promise<SandboxOutcome> =>
        isUp ? inner.run(text) : { kind: 'unavailable', message: 'the sandbox is not running' };
      return { start: () => inner.start(), stop: () => inner.stop(), run };
    };
    const patches = [entry({ path: 'metadata.annotations.k', expression: '"p-" + value', onError: 'skip' })];
    await start({ patches, openSandbox }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }));
    expect(annotations(world.copy('web'))['k']).toBe('v');
    isUp = true;
    await world.clock.advance(1_000);
    await world.quiet();
    expect(annotations(world.copy('web'))['k']).toBe('p-v');
  });

  // A reload ends the old sandbox; what was being judged there then is no fault of the tenant's value.
  it.each(['fail', 'skip', 'keepLast'] as const)(
    '%s: a value whose judge ended before its verdict is judged again: nobody is told, and nothing is written unpatched',
    async (onError) => {
      const { openSandbox, holdBack } = endingSandbox();
      const patches = [entry({ path: 'metadata.annotations.k', expression: '"p-" + value', onError })];
      await start({ patches, openSandbox }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }));
      holdBack();
      edit(world.virtual, virtual(), (draft) => {
        draft.metadata.annotations = { k: 'w' };
      });
      await settle();
      await world.patches?.stop();
      await world.quiet();
      expect(annotations(world.copy('web'))['k']).toBe('p-v');
      expect(world.eventReasons()).toEqual([]);
      expect(world.sync.ledger.entry('default/web')?.outcome).toMatchObject({ kind: 'retry', retryAfterMs: 1_000 });
    },
  );

  it('a host value whose judge ended before its verdict is no failure of the way back', async () => {
    const { openSandbox, holdBack } = endingSandbox();
    const pair = { expression: '"p-" + value', reverseExpression: 'value.slice(2)' };
    const patches = [entry({ path: 'metadata.annotations.k', ...pair })];
    await start({ patches, openSandbox }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }));
    holdBack();
    edit(world.host, world.copy('web'), (draft) => {
      draft.metadata.annotations = { ...draft.metadata.annotations, k: 'p-w' };
    });
    await settle();
    await world.patches?.stop();
    await world.quiet();
    expect([annotations(virtual())['k'], annotations(world.copy('web'))['k']]).toEqual(['v', 'p-w']);
    expect([world.eventReasons(), world.sync.ledger.backflowFailures.size]).toEqual([[], 0]);
  });

  it('fail: status lists no keys, because only the patches can tell which side wins', async () => {
    await start({ patches: [] }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'v' } }));
    await world.stop();
    world.options = { patches: [failing('fail')] };
    await world.run();
    const status = await patchedObjectStatus(world.sync, 'default/web');
    expect(status).toMatchObject({ state: 'refused/PatchFailed', patchFailure: { patch: 0 } });
    expect(status?.keys).toBeUndefined();
  });

  it('keepLast: a path over every field keeps the fields that it can match, but no label and no annotation', async () => {
    const sometimes = entry({
      path: '*[0].addresses',
      expression: 'value[0].ip === "10.0.0.9" ? value.nope.deep : value',
      onError: 'keepLast',
    });
    await start({ patches: [sometimes] }, (w) => putPair(w, 'web', '10.0.0.1', { annotations: { k: 'good' } }));
    await world.change(() =>
      edit(world.virtual, virtual(), (draft) => {
        draft.metadata.annotations = { k: 'edited' };
        draft['subsets'] = endpoints('x', '10.0.0.9')['subsets'];
      }),
    );
    expect(annotations(world.copy('web'))).toMatchObject({ k: 'edited' });
    expect(ipOf(world.copy('web'))).toBe('10.0.0.1');
    expect(world.eventReasons()).toEqual(['PatchFailed']);
  });

  it('keepLast: the host keeps its value; on create the object fails', async () => {
    const sometimes = entry({
      path: 'metadata.annotations.k',
      expression: 'value === "bad" ? value.nope.deep : "ok-" + value',
      onError: 'keepLast',
    });
    await start({ patches: [sometimes] }, (w) => {
      putPair(w, 'web', '10.0.0.1', { annotations: { k: 'good' } });
      putPair(w, 'fresh', '10.0.0.1', { annotations: { k: 'bad' } });
    });
    expect(world.copy('fresh')).toBeUndefined();
    await world.change(() =>
      edit(world.virtual, virtual(), (draft) => {
        draft.metadata.annotations = { k: 'bad', other: '1' };
        draft['subsets'] = endpoints('x', '10.0.0.9')['subsets'];
      }),
    );
    expect(annotations(world.copy('web'))).toMatchObject({ k: 'ok-good', other: '1' });
    expect(ipOf(world.copy('web'))).toBe('10.0.0.9');
  });

  it.each([
    ['an invalid IP', 'subsets[*].addresses[*].ip', '"not-an-ip"'],
    ['a port out of range', 'subsets[*].ports[*].port', '70000'],
    ['a number as label', 'metadata.labels.app', '5'],
    ['a label value with blanks', 'metadata.labels.app', '"a b"'],
    ['a string as subsets', 'subsets', '"x"'],
  ])('a result that is no Endpoints fails its patch: %s', async (_, path, expression) => {
    await start({ patches: [entry({ path, expression })] }, (w) =>
      putPair(w, 'web', '10.0.0.1', { labels: { app: 'x' } }),
    );
    expect(world.host.writes).toEqual([]);
    expect(world.eventReasons()).toEqual(['PatchFailed']);
  });

  const outcome = () => world.sync.ledger.entry('default/web')?.outcome as { message: string; failure?: object };

  it.each([
    ['the last that wrote there', 0, ['metadata.labels.app', '"a b"'], ['metadata.labels.other', '"fine"']],
    ['not one that came later and let it through', 0, ['metadata.labels.app', '"a b"'], ['metadata.labels', 'value']],
    ['nor one for the whole object', 0, ['metadata.labels.app', '"a b"'], ['', 'value']],
    ['one for a whole map', 1, ['metadata.labels.other', '"fine"'], ['metadata.labels', '({ ...value, app: "a b" })']],
    [
      'one for the whole object',
      1,
      ['metadata.labels.other', '"x"'],
      ['', '(value.metadata.labels.app = "a b", value)'],
    ],
    ['one for an address', 0, ['subsets[*].addresses[*].ip', '"x"'], ['metadata.labels.other', '"fine"']],
    ['one for a whole subset', 1, ['subsets[*].ports[*].port', '81'], ['subsets[0]', '({ addresses: [{ ip: 5 }] })']],
    ['one for all subsets', 1, ['metadata.labels.other', '"fine"'], ['subsets', '[{ addresses: [{ ip: 5 }] }]']],
    [
      'one that makes it too large',
      1,
      ['metadata.labels.other', '"x"'],
      ['metadata.annotations.k', '"x".repeat(262144)'],
    ],
  ])('an invalid result is laid at the door of the patch that made it: %s', async (_, guilty, ...entries) => {
    const patches = entries.map(([path = '', expression = '']) => entry({ path, expression }));
    await start({ patches }, (w) =>
      putPair(w, 'web', '10.0.0.1', { labels: { app: 'x', other: 'y' }, annotations: { k: 'v' } }),
    );
    expect(outcome()).toMatchObject({
      message: expect.stringContaining(`patch ${guilty} makes the object no valid Endpoints: `),
      failure: { patch: guilty, path: entries[guilty]?.[0], class: 'type' },
    });
  });

  it('a reverse expression with an invalid label as its result fails, and the tenant keeps its value', async () => {
    const pair = { path: 'metadata.labels.app', expression: '"p-" + value' };
    for (const reverseExpression of ['"a b"', '5', '"x".repeat(64)']) {
      const patches = [
        entry({ ...pair, reverseExpression }),
        entry({ path: 'metadata.labels.other', expression: 'value' }),
      ];
      await start({ patches }, (w) => putPair(w, 'web', '10.0.0.1', { labels: { app: 'v' } }));
      await world.change(() =>
        edit(world.host, world.copy('web'), (draft) => {
          draft.metadata.labels = { ...draft.metadata.labels, app: 'p-new' };
        }),
      );
      expect(virtual()?.metadata.labels).toEqual({ app: 'v' });
      expect(world.virtual.writes.filter((one) => one.includes('endpoints'))).toEqual([]);
      expect([...(world.sync.ledger.backflowFailures.get('default/web')?.labels ?? [])]).toMatchObject([
        ['app', { patch: 0, at: 'metadata.labels.app' }],
      ]);
      await world.stop();
    }
  });

  it('a failure names the right places, although other patches changed the object in the same run', async () => {
    const ip = entry({ path: 'subsets[*].addresses[*].ip', expression: 'value === "10.0.0.2" ? value.x.y : value' });
    const port = entry({ path: 'subsets[*].ports[*]', expression: 'null' });
    const made = entry({ path: 'metadata.labels.made', expression: 'value.x.y', onMissing: 'create' });
    for (const [patches, at] of [
      [[port, ip], 'subsets.1.addresses.0.ip'],
      [[port, made], 'metadata.labels.made'],
    ] as const) {
      await start({ patches }, (w) => {
        putPair(w, 'web', '10.0.0.1');
        edit(w.virtual, w.virtual.get('endpoints', 'default', 'web'), (draft) => {
          const of = (one: string) => ({ addresses: [{ ip: one }], ports: [{ port: 80 }] });
          draft['subsets'] = [of('10.0.0.1'), of('10.0.0.2')];
        });
      });
      expect(outcome()).toMatchObject({ failure: { patch: 1, at }, message: expect.stringContaining(`at "${at}"`) });
      await world.stop();
    }
  });

  it('when only several patches together make the object too large, no patch is blamed', async () => {
    const half = (key: string) => entry({ path: `metadata.annotations.${key}`, expression: '"x".repeat(140000)' });
    await start({ patches: [half('a'), half('b')] }, (w) =>
      putPair(w, 'web', '10.0.0.1', { annotations: { a: '1', b: '1' } }),
    );
    expect(outcome().message).toMatch(
      /^after all patches the object is no valid Endpoints: metadata\.annotations must have/,
    );
    expect(outcome().failure).not.toHaveProperty('patch');
  });

  it('an invalid result is a failure of its patch, and the onError of that patch applies', async () => {
    const bad = (onError: 'skip' | 'keepLast') =>
      entry({ path: 'metadata.labels.app', expression: 'value === "bad" ? "a b" : "ok-" + value', onError });
    const other = entry({ path: 'metadata.annotations.k', expression: '"p-" + value' });
    for (const [onError, kept] of [
      ['skip', 'bad'],
      ['keepLast', 'ok-x'],
    ] as const) {
      await start({ patches: [bad(onError), other] }, (w) =>
        putPair(w, 'web', '10.0.0.1', { labels: { app: 'x' }, annotations: { k: 'v' } }),
      );
      await world.change(() => putPair(world, 'web', '10.0.0.2', { labels: { app: 'bad' }, annotations: { k: 'w' } }));
      expect(world.copy('web')?.metadata.labels?.['app']).toBe(kept);
      expect(annotations(world.copy('web'))['k']).toBe('p-w');
      expect(ipOf(world.copy('web'))).toBe('10.0.0.2');
      await world.stop();
    }
  });

  it('a result for the whole object that is wrong in one part changes nothing in another', async () => {
    const whole = entry({ path: '', expression: '({ subsets: [], metadata: 5 })', onError: 'skip' });
    await start({ patches: [whole] }, (w) => putPair(w, 'web', '10.0.0.1'));
    expect(ipOf(world.copy('web'))).toBe('10.0.0.1');
  });

  it('the message shortens a long key', async () => {
    const patches = [entry({ path: 'metadata.annotations', expression: '({ ["hunter2-".repeat(1000)]: 5 })' })];
    await start({ patches }, (w) => putPair(w, 'web'));
    expect(outcome().message).toContain(
      'metadata.annotations["hunter2-hunter2-hunt… (8000 characters)"] must be a string',
    );
    expect(outcome().message.length).toBeLessThan(300);
  });
});
