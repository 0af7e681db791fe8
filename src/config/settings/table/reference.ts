// Generates the reference page of the configuration from the settings table, so that the two always agree.
import { closedPaths, type Setting, type SettingShape, settingsTable } from './table.ts';

const chapters: { title: string; text: string; holds(path: string): boolean }[] = [
  {
    title: 'Endpoints sync',
    text: 'The block that vCluster reads too.',
    holds: (path) => path.startsWith('sync.toHost.endpoints'),
  },
  {
    title: 'EndpointSlices sync',
    text: 'The block that vCluster reads too. Paths begin with `endpoints`, `ports` or `metadata`.',
    holds: (path) => path.startsWith('sync.toHost.endpointSlices'),
  },
  {
    title: 'Namespace mapping',
    text: 'The block that vCluster reads too.',
    holds: (path) => path.startsWith('sync.toHost.namespaces'),
  },
  {
    title: 'Hostward',
    text: 'Under top-level `hostward` in a file of its own, or under `global.hostward` in a `vcluster.yaml`: everywhere else vCluster refuses unknown keys. A setting in both places must have the same value.',
    holds: (path) => /^hostward\.(?!management|direct)/.test(path),
  },
  {
    title: 'Management API',
    text: 'Under `hostward.management`. A file with nothing but this block runs the API alone. Names of users and groups never begin with `system:`, `kubeadm:` or `hostward:`.',
    holds: (path) => path.startsWith('hostward.management'),
  },
  {
    title: 'Direct endpoint',
    text: 'Under `hostward.direct`, for `hostward direct`; see [direct endpoints](direct-endpoints.md). A file with nothing but this block needs no names of a virtual cluster.',
    holds: (path) => path.startsWith('hostward.direct'),
  },
  {
    title: 'Read from vCluster',
    text: 'Settings of vCluster that decide how Hostward behaves.',
    holds: (path) => path.startsWith('experimental.') || path.startsWith('controlPlane.'),
  },
];

export function configurationReference(): string {
  const lines = [
    '# Settings',
    '',
    '<!-- Made from src/config/settings/table/table.ts; `UPDATE_GOLDEN=1 npm test` writes it again. -->',
    '',
    '`hostward run --config FILE` may be given several times. Later files are merged over earlier ones as in Helm: maps deeply, lists are replaced, and null removes a setting. Any real `vcluster.yaml` is accepted whole.',
    '',
    `Unknown keys are faults under ${closedPaths.map(code).join(', ')}; elsewhere they belong to vCluster and are ignored, unless they are one or two letters away from the name of one of these sections. Values are read as vCluster reads them: \`yes\` and \`on\` are true unless quoted, and a number is accepted where a text is wanted. \`hostward check\` warns where a name is read as other characters than it is written with, as \`012345\` and \`on\` are.`,
    '',
    'The running daemon applies a changed file after a few seconds, or at once after SIGHUP. Settings marked *start* need a restart. A file with a fault is not applied: the old configuration stays active, and the faults are logged.',
  ];
  for (const { title, text, holds } of chapters) {
    lines.push(
      '',
      `## ${title}`,
      '',
      text,
      '',
      '| setting | value | default | change | meaning |',
      '|---|---|---|---|---|',
    );
    for (const row of settingsTable.filter(({ path }) => holds(path))) lines.push(line(row));
  }
  return `${lines.join('\n')}\n`;
}

function line(row: Setting): string {
  const cells = [code(row.path), shapeWords(row.shape), defaultWords(row), row.change === 'live' ? 'live' : 'start'];
  return `| ${[...cells, row.about].map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function defaultWords(row: Setting): string {
  if (row.required) return 'needed';
  if (row.defaultWords !== undefined) return row.defaultWords;
  if (row.default === undefined) return 'none';
  return code(typeof row.default === 'string' ? row.default : JSON.stringify(row.default));
}

function shapeWords(shape: SettingShape): string {
  switch (shape.kind) {
    case 'boolean':
      return 'true or false';
    case 'text':
      return shape.rule === 'any' ? 'text' : ruleWords[shape.rule];
    case 'choice':
      return shape.of.map(code).join(', ');
    case 'number':
      return `number above ${shape.above}`;
    case 'integer':
      return `whole number from ${shape.from} to ${shape.to}`;
    case 'texts':
      return `list of ${shape.rule === 'any' ? 'texts' : `${ruleWords[shape.rule]}s`}`;
    case 'pairs':
      return 'map of texts';
    case 'list':
      return 'list';
    case 'map':
      return 'map';
    default:
      return shape satisfies never;
  }
}

const ruleWords = {
  name: 'DNS label',
  network: 'network',
  listen: 'HOST:PORT',
  host: 'DNS name',
  hostOrAddress: 'host',
  pattern: 'key pattern',
  file: 'file',
  folder: 'folder',
  identity: 'name',
  url: 'https address',
  interval: '`0`, or a time such as `60s` or `5m`',
};

function code(text: string): string {
  return `\`${text}\``;
}
