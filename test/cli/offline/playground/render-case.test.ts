import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../../src/cli/command-line.ts';
import type { RenderDraft } from '../../../../src/cli/offline/playground/render-case.ts';
import type { PlaygroundCase } from '../../../../src/pages/playground-api.ts';
import { scene } from '../../scene.ts';
import { endpoints, list, render, sandbox, setUp } from './render-case-stage.ts';

setUp();

const samples = fileURLToPath(new URL('../../../../fixtures/patches', import.meta.url));
const cases = readdirSync(samples).filter((name) => existsSync(`${samples}/${name}/config.yaml`));

function textOf(name: string, file: string): string {
  const path = `${samples}/${name}/${file}`;
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

async function rendered(files: Record<string, string>, ...options: string[]) {
  const inHome = Object.fromEntries(Object.entries(files).map(([name, text]) => [`/home/${name}`, text]));
  const on = scene({ files: inHome });
  const names = ['--vcluster-name', 'my-vcluster', '--host-namespace', 'vcluster-my-vcluster'];
  await runCommandLine({ ...on.context, openSandbox: sandbox.open }, [
    'render',
    '-c',
    'config.yaml',
    '-f',
    'virtual.yaml',
    ...names,
    ...options,
  ]);
  return { output: on.out(), messages: on.err() };
}

describe('renderCase() on the samples of fixtures/patches', () => {
  it.each(cases)('%s gives the bytes of hostward render', async (name) => {
    const files = { 'config.yaml': textOf(name, 'config.yaml'), 'virtual.yaml': textOf(name, 'virtual.yaml') };
    const [hostBefore, hostEdited] = [textOf(name, 'host-before.yaml'), textOf(name, 'back/host.yaml')];
    const found = await render({
      config: files['config.yaml'],
      virtual: files['virtual.yaml'],
      hostBefore,
      hostEdited,
    });
    const withBefore = hostBefore === '' ? files : { ...files, 'before.yaml': hostBefore };
    const expected = await rendered(withBefore, ...(hostBefore === '' ? [] : ['--host-object', 'before.yaml']));
    expect(found.forward?.output).toBe(expected.output);
    expect(found.forward?.messages.map((one) => `${one}\n`).join('')).toBe(expected.messages);
    if (hostEdited === '') return expect(found.back).toBeUndefined();
    const back = await rendered({ ...files, 'edited.yaml': hostEdited }, '--host-object', 'edited.yaml', '--back');
    expect(found.back?.output).toBe(back.output);
    expect(found.back?.messages.map((one) => `${one}\n`).join('')).toBe(back.messages);
  });
});

describe('a patch that matches nothing', () => {
  it.each(cases)('says why in the sample %s', async (name) => {
    const text = (file: string) => textOf(name, file);
    const { forward, back } = await render({
      config: text('config.yaml'),
      virtual: text('virtual.yaml'),
      hostBefore: text('host-before.yaml'),
      hostEdited:
        text('back/host.yaml') ||
        forwardOf(await render({ config: text('config.yaml'), virtual: text('virtual.yaml') })),
    });
    const idle = [...(forward?.patches ?? []), ...(back?.patches ?? [])].filter(({ matches }) => matches.length === 0);
    for (const { notTried, whyNone } of idle) expect(notTried ?? whyNone).toMatch(/\w+ \w+/);
  });

  const forwardOf = ({ forward }: RenderDraft): string => forward?.output ?? '';
  const whyOf = async (path: string, more: Partial<PlaygroundCase> = {}) => {
    const back = more.hostEdited === undefined ? '' : '  reverseExpression: value\n';
    const config = `- path: ${path}\n  expression: value\n${back}`;
    const found = await render({ config, ...more });
    return (more.hostEdited === undefined ? found.forward : found.back)?.patches.map(({ whyNone }) => whyNone);
  };

  it.each([
    ['metadata.labels["tea"]', 'there is no metadata.labels.tea'],
    ['metadata.annotations[*]', 'metadata.annotations has nothing that a patch may change'],
    ['subsets[*].addresses[*].hostname', 'there is no subsets.*.addresses.*.hostname'],
    ['subsets[1].ports', 'there is no subsets.1'],
  ])('says where the path %s ends', async (path, why) => {
    expect(await whyOf(path)).toEqual([why]);
  });

  it.each([
    ['metadata.labels["team"]', 'nobody has edited it on the host'],
    ['metadata.labels["tea"]', 'there is no metadata.labels.tea'],
    ['subsets[*].addresses[*].ip', 'subsets never flows back'],
  ])('says why %s brings nothing back', async (path, why) => {
    const edited = forwardOf(await render({ config: '' }));
    const hostEdited = edited.replace('  labels:\n', '  labels:\n    edited-there: x\n');
    expect(await whyOf(path, { hostEdited })).toEqual([why]);
  });

  it('says of the name of an object of the host that it stays as it is', async () => {
    const config = '- path: metadata.annotations.tls\n  reference: {apiVersion: v1, kind: Secret}\n';
    const virtual = endpoints.replace('{team: ada}', '{team: ada}\n  annotations: {tls: mine}');
    const hostEdited = forwardOf(await render({ config, virtual })).replace(/tls: .*/, 'tls: of-the-host');
    const { back } = await render({ config, virtual, hostEdited });
    expect(back?.patches).toMatchObject([{ whyNone: 'nobody has edited it on the host, or it names no copy' }]);
  });

  it('says when one of two lists of patches is for a kind that no object here has', async () => {
    const patches = 'patches: [{path: metadata.labels.team, expression: value}]';
    const config = `sync: {toHost: {endpoints: {${patches}}, endpointSlices: {${patches}}}}\n`;
    expect((await render({ config })).forward?.notes).toContainEqual(
      'the patches in sync.toHost.endpointSlices.patches change objects of kind EndpointSlice, and no object here is of that kind',
    );
  });

  it('also says why its object stays in the virtual cluster', async () => {
    const service =
      'apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: shop}\nspec: {selector: {app: db}}\n';
    const { forward } = await render({ config: list('value'), virtual: `${endpoints}---\n${service}` });
    expect(forward?.notes.join()).toContain('selector');
  });
});

describe('objects of two kinds', () => {
  const slice = `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, namespace: shop, labels: {team: ada, kubernetes.io/service-name: db}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1]}]
`;

  it('beside a list of patches, which is for one of them, are told which one it leaves', async () => {
    const { forward } = await render({ config: list('\'"t-" + value\''), virtual: `${slice}---\n${endpoints}` });
    expect(forward?.notes).toContain(
      'no patch here changes objects of kind Endpoints: a list is for one kind, and a vcluster.yaml has one for each',
    );
    expect((await render({ config: list('\'"t-" + value\'') })).forward?.notes).toEqual([]);
  });

  it('are told apart on the way back: an object of another kind is a copy of none', async () => {
    const hostEdited =
      'apiVersion: v1\nkind: Endpoints\nmetadata: {name: db-1-x-shop-x-my-vcluster, namespace: vcluster-my-vcluster}\n';
    const { marks } = await render({ config: list('value'), virtual: slice, hostEdited });
    expect(marks.find(({ text }) => text === 'hostEdited')?.message).toMatch(
      /^wanted host objects that are copies of the virtual ones, found Endpoints "/,
    );
  });
});

describe('renderCase()', () => {
  it('says which of several objects a patch fails on', async () => {
    const other = endpoints.replace('name: db', 'name: web').replace('team: ada', 'team: eve');
    const config = list(`'value === "eve" ? value.no.way : value'`);
    const { marks } = await render({ config, virtual: `${endpoints}---\n${other}` });
    expect(marks[0]?.message).toMatch(/^at metadata\.labels\.team of shop\/web: the expression throws/);
    expect((await render({ config, virtual: other })).marks[0]?.message).toMatch(/^at metadata\.labels\.team: /);
  });

  it.each([
    ['fails on every sample and on the object', 'value.nothing.here', 'because the patch fails'],
    ['makes what no object may hold', '[value]', 'because the patch fails', 'value[0]'],
    ['fails on the object alone', 'value === "ada" ? value.nothing.here : value', 'because the patch fails'],
    ['takes none of the samples', 'value.length > 900 ? value : value.nothing.here', 'because the patch fails'],
  ])('does not praise the round trip of a patch that %s', async (_, expression, words, back = 'value') => {
    const { roundTrips } = await render({ config: list(`'${expression}'`, `  reverseExpression: ${back}\n`) });
    expect(roundTrips).toMatchObject([{ patch: 0, problem: expect.stringContaining(words) }]);
  });

  it('says that a pair of expressions gave back the samples that it took both ways', async () => {
    const { roundTrips } = await render({ config: list('value', '  reverseExpression: value\n') });
    expect(roundTrips).toMatchObject([{ patch: 0, problem: undefined }]);
  });

  it('shows what patches change, line by line, with the matches of each', async () => {
    const { forward, marks, roundTrips } = await render({ config: list('\'"t-" + value\'') });
    expect(marks).toEqual([]);
    const [object] = forward?.objects ?? [];
    expect(object?.name).toBe('Endpoints vcluster-my-vcluster/db-x-shop-x-my-vcluster on the host');
    expect(object?.lines.filter(({ mark }) => mark !== ' ')).toEqual([
      { mark: '-', text: '    team: ada' },
      { mark: '+', text: '    team: t-ada' },
    ]);
    expect(forward?.patches).toMatchObject([
      { patch: 0, path: 'metadata.labels["team"]', object: 'shop/db', matches: [{ before: 'ada', after: 't-ada' }] },
    ]);
    expect(roundTrips).toEqual([]);
  });

  it('takes a list of patches for the kind of the object beside it', async () => {
    const slice = endpoints.replace('Endpoints', 'EndpointSlice').replace('v1', 'discovery.k8s.io/v1');
    const text = slice.replace(
      /subsets:[\s\S]*/,
      'addressType: IPv4\nendpoints:\n- addresses: [10.0.0.1]\nports: [{port: 1}]\n',
    );
    const named = text.replace('{team: ada}', '{team: ada, kubernetes.io/service-name: db}');
    const { forward, marks } = await render({ config: list('\'"t-" + value\''), virtual: named });
    expect(marks.filter(({ severity }) => severity === 'fault')).toEqual([]);
    expect(forward?.output).toContain('team: t-ada');
  });

  it.each([
    ['throws', "'value.no.way'"],
    ['hangs', "'(() => { for (;;) {} })()'"],
  ])('says that a patch behind one that %s was not tried', async (_, expression) => {
    const later = '- path: metadata.labels["z"]\n  expression: \'"z"\'\n  onMissing: create\n';
    const { forward } = await render({ config: list(expression, later) });
    const said = forward?.patches.map(({ notTried, matches }) => [notTried, matches.length]);
    expect(said).toEqual([
      [undefined, 1],
      ['not tried, because patch 0 failed', 0],
    ]);
  });

  it('tells of a pair that does not come back', async () => {
    const reverse = '  reverseExpression: \'value + "!"\'\n';
    const { roundTrips, marks } = await render({ config: list('\'"t-" + value\'', reverse) });
    expect(roundTrips).toMatchObject([{ patch: 0, problem: expect.stringContaining('does not undo') }]);
    expect(marks).toContainEqual(expect.objectContaining({ severity: 'warning', code: 'PATCH_ROUND_TRIP', line: 3 }));
  });

  it('says of an object without a copy that no patch was run, not that the path leads nowhere', async () => {
    const selector = 'spec: {selector: {app: db}, ports: [{port: 1}]}';
    const service = `apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: shop}\n${selector}\n`;
    const config = `- path: metadata.labels["a/b"]\n  onMissing: create\n  expression: '"x"'\n`;
    const { forward } = await render({ config, virtual: `${endpoints}---\n${service}` });
    expect(forward?.patches).toMatchObject([{ whyNone: 'the object is not on the host, so no patch was run' }]);
  });

  it('says when the edited object is a copy of none of the objects, and shows the rest', async () => {
    const hostEdited = endpoints.replace('name: db', 'name: other');
    const { marks, forward, back } = await render({ config: list('\'"t-" + value\''), hostEdited });
    expect(marks).toMatchObject([
      { text: 'hostEdited', message: expect.stringContaining('wanted host objects that are copies') },
    ]);
    expect([forward?.output.includes('t-ada'), back]).toEqual([true, undefined]);
  });

  it('shows what an edit on the host changes for the tenant', async () => {
    const reverse = '  reverseExpression: value.slice(2)\n';
    const config = list('\'"t-" + value\'', reverse);
    const { forward } = await render({ config });
    const hostEdited = forward?.output.replace('t-ada', 't-bob') ?? '';
    const { back } = await render({ config, hostEdited });
    expect(back?.objects[0]?.lines.filter(({ mark }) => mark !== ' ')).toEqual([
      { mark: '-', text: '    team: ada' },
      { mark: '+', text: '    team: bob' },
    ]);
    expect(back?.patches).toMatchObject([{ patch: 0, matches: [{ before: 't-bob', after: 'bob' }] }]);
  });
});

describe('a text that has nothing to do', () => {
  it.each(['[]', '# none yet\n[]\n'])('is a list without a patch, as %j', async (config) => {
    const { marks, forward } = await render({ config });
    expect(marks).toMatchObject([{ code: 'NO_PATCHES', severity: 'warning' }]);
    expect(forward?.objects).toHaveLength(1);
  });

  it('may be a list in brackets, whose faults are where they are written', async () => {
    const { forward } = await render({ config: `[{path: 'metadata.labels["team"]', expression: '"a"'}]` });
    expect(forward?.patches).toMatchObject([{ matches: [{ before: 'ada', after: 'a' }] }]);
    const { marks } = await render({ config: `[{path: 'metadata.labels["team"]', expresion: '"a"'}]` });
    expect(marks).toMatchObject([{ line: 1, column: 36 }]);
  });

  it('may have patches for another kind only, and then a note says so', async () => {
    const config = `hostward: {endpointSlices: {enabled: true}}
sync: {toHost: {endpointSlices: {patches: [{path: 'metadata.labels["team"]', expression: '"a"'}]}}}
`;
    expect((await render({ config })).forward?.notes).toContain(
      'the patches in sync.toHost.endpointSlices.patches change objects of kind EndpointSlice, and no object here is of that kind',
    );
    expect((await render({ config: list(`'"a"'`) })).forward?.notes).toEqual([]);
  });
});
