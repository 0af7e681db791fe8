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
    ['kind: Deployment\nmetadata: {name: web}\n', 'this is YAML of the kind "Deployment"'],
    ['foo: bar\n', 'there is no patch in this text'],
    ['# only this\nname: x\npath: metadata.labels.a\n', 'there is no patch in this text'],
  ])('says that a text is not patches: %j', async (config, words) => {
    const { marks } = await render({ config });
    expect(marks.filter(({ severity }) => severity === 'fault')).toMatchObject([
      { text: 'config', message: expect.stringMatching(`^${words}; wanted a list of patches, or a vcluster.yaml`) },
    ]);
  });

  it('warns of a configuration without a patch, and says nothing of an empty text', async () => {
    const { marks } = await render({ config: 'sync: {toHost: {endpoints: {enabled: true}}}\n' });
    expect(marks.filter(({ code }) => code === 'NO_PATCHES')).toMatchObject([{ severity: 'warning' }]);
    expect((await render({ config: '# not yet\n' })).marks).toEqual([]);
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

  it('places every fault in the text of the user, also where that text is only a list', async () => {
    const { marks, forward } = await render({
      config: `# A list.\n${list("'value +'")}${list("'nobody'").replace('team', 'app')}`,
    });
    expect(marks.map(({ text, severity, line, column }) => ({ text, severity, line, column }))).toEqual([
      { text: 'config', severity: 'fault', line: 3, column: 23 },
      { text: 'config', severity: 'fault', line: 5, column: 16 },
    ]);
    expect(forward).toBeUndefined();
  });

  it('places a throw at its line and column', async () => {
    const { marks, forward } = await render({ config: list('|\n    "a" +\n      value.no.way') });
    expect(marks).toContainEqual(expect.objectContaining({ code: 'PATCH_FAILED', line: 4, column: 16 }));
    expect(forward?.output).toBe('');
    expect(forward?.messages.join()).toMatch(/^config\.yaml:2:15: Endpoints "shop\/db": patch 0 failed/);
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

  it.each([
    ['hangs', "'(() => { for (;;) {} })()'"],
    ['swells', "'[...Array(90000).keys()].map((n) => Array(90000).fill(n)).length'"],
    ['returns too much', '\'"x".repeat(1000000)\''],
  ])('an expression that %s is a fault at its place', async (_, expression) => {
    const { marks, forward } = await render({ config: list(expression) });
    expect(marks.filter(({ severity }) => severity === 'fault')).toMatchObject([{ code: 'PATCH_FAILED', line: 2 }]);
    expect(forward?.output).toBe('');
  });

  it('tells of a label that may not be once, at the expression, in one sentence without a pattern', async () => {
    const { marks } = await render({ config: list('value + "_"') });
    const message = `patch 0 makes the object no valid Endpoints: metadata.labels["team"]: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`;
    expect(marks).toEqual([{ text: 'config', severity: 'fault', code: 'PATCH_FAILED', line: 2, column: 15, message }]);
  });

  it('tells of a pair that does not come back', async () => {
    const reverse = '  reverseExpression: \'value + "!"\'\n';
    const { roundTrips, marks } = await render({ config: list('\'"t-" + value\'', reverse) });
    expect(roundTrips).toMatchObject([{ patch: 0, problem: expect.stringContaining('does not undo') }]);
    expect(marks).toContainEqual(expect.objectContaining({ severity: 'warning', code: 'PATCH_ROUND_TRIP', line: 3 }));
  });

  it('says in a sentence what is wrong with an object, and where', async () => {
    const { marks } = await render({ virtual: 'kind: Endpoints\n metadata: {' });
    expect(marks).toMatchObject([{ text: 'virtual', line: 2, column: 10, severity: 'fault' }]);
    const pod = await render({ virtual: 'kind: Pod\nmetadata: {name: a}' });
    expect(pod.marks).toMatchObject([
      { text: 'virtual', message: 'wanted Endpoints or EndpointSlices to render, found only Pod in the input' },
    ]);
    const number = await render({ virtual: endpoints.replace('10.0.0.1', '7') });
    expect(number.marks).toMatchObject([
      { text: 'virtual', message: 'Endpoints "db": subsets[0].addresses[0].ip: wanted an IP address, found 7' },
    ]);
  });

  it.each<[string, string, string, string, string]>([
    ['an object', 'db', '"No_Name!<b>"', '"No_N', 'metadata.name: "No_Name!<b>": a lowercase RFC 1123 subdomain'],
    ['a namespace', 'shop', 'shop.x', 'shop.x', 'metadata.namespace: "shop.x": must not contain dots'],
    ['a long namespace', 'shop', 'x'.repeat(64), 'xxxx', 'must be no more than 63 characters'],
    [
      'a key of a label',
      '{team: ada}',
      '{"a team": ada}',
      '"a team"',
      'metadata.labels["a team"]: "a team": name part',
    ],
    ['a label', '{team: ada}', '{team: "a d a"}', '"a d a"', 'metadata.labels["team"]: "a d a": a valid label'],
    [
      'a key of an annotation',
      'labels: {team: ada}',
      'annotations: {"/a": b}',
      '"/a"',
      'annotations["/a"]: "/a": prefix',
    ],
    ['a port', 'port: 5432', 'port: 5432\n    name: PG!', 'PG!', 'subsets[0].ports[0].name must be a DNS label'],
    ['a number of a port', '5432', '543200', '543200', 'subsets[0].ports[0].port must be a whole number'],
    [
      'a host name',
      'ip: 10.0.0.1',
      '{ip: 10.0.0.1, hostname: a.b}',
      'a.b',
      'addresses[0].hostname must be a DNS label',
    ],
    ['a node', 'ip: 10.0.0.1', '{ip: 10.0.0.1, nodeName: A}', 'A}', 'addresses[0].nodeName must be a DNS subdomain'],
    ['a name that turns the line around', 'db', '"d\u202eb"', '"d\u202e', 'a lowercase RFC 1123 subdomain'],
  ])('marks a name that Kubernetes would refuse at its place: %s', async (_, before, after, at, message) => {
    const virtual = endpoints.replace(before, after);
    const { marks, forward } = await render({ config: list('value'), virtual });
    expect(forward).toBeUndefined();
    expect(marks).toMatchObject([{ text: 'virtual', severity: 'fault', message: expect.stringContaining(message) }]);
    const { line = 0, column = 0 } = marks[0] ?? {};
    expect(virtual.split('\n')[line - 1]?.slice(column - 1)).toMatch(new RegExp(`^${at}`));
  });

  it('marks every name at once, in a List, in JSON and of a Service too', async () => {
    const of = (name: string, kind = 'Endpoints') => ({ apiVersion: 'v1', kind, metadata: { name, namespace: 'n' } });
    const subsets = [
      {
        addresses: [{ ip: '10.0.0.1' }],
        ports: [
          { port: 1, name: 'A' },
          { port: 2, name: 'B' },
        ],
      },
    ];
    const items = [of('A'), { ...of('b'), subsets }, of('c.d', 'Service')];
    const virtual = JSON.stringify({ kind: 'List', items }, undefined, 1);
    const { marks } = await render({ config: list('value'), virtual });
    const lines = virtual.split('\n');
    expect(marks.map(({ line, column }) => lines[line - 1]?.slice(column - 1))).toEqual([
      '"A",',
      '"A"',
      '"B"',
      '"c.d",',
    ]);
  });

  it('marks names of the objects of the host, each in its own text', async () => {
    const bad = endpoints.replace('name: db', 'name: D!');
    const { marks } = await render({ config: list('value'), hostBefore: bad, hostEdited: bad });
    expect(marks.map(({ text, line, column }) => [text, line, column])).toEqual([
      ['hostBefore', 4, 9],
      ['hostEdited', 4, 9],
    ]);
  });

  it('has one mark for one mistake, and lines of the text that is seen', async () => {
    const twice = await render({ config: '- path: a\n  path: b\n  expression: value\n' });
    expect(twice.marks.map(({ line, message }) => `${line} ${message}`)).toContainEqual(
      expect.stringMatching(/^2 .*twice \(first in line 1\)/),
    );
    const config = `- path: subsets[*].ports[*].port\n  expression: '"x"'\n`;
    expect((await render({ config })).marks).toMatchObject([{ line: 2, column: 16, code: 'PATCH_FAILED' }]);
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
