import { describe, expect, it } from 'vitest';
import { endpoints, list, render, setUp } from './render-case-stage.ts';

setUp();

describe('the marks of renderCase(), each at the place of its fault', () => {
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
});
