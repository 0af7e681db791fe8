// `hostward install`: the samples of an installation with the names of one virtual cluster in them. In: the samples that the package
// and the image bring along, and names. Out: one file, whose first lines say how it is used. It asks no cluster.
import { join } from 'node:path';
import { nearestKey } from '../../object/meta/nearest-key.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';

/** The names in the samples. */
const sampleName = 'my-vcluster';
const sampleNamespace = `vcluster-${sampleName}`;
const sampleImage = /image: hostward:\S+/g;

const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
/** Helm allows a name of a release 53 characters. */
const longestRelease = 53;
const longestNamespace = 63;

const kinds = ['values', 'manifests', 'chart-values'] as const;
type What = (typeof kinds)[number];

interface Names {
  name: string;
  namespace: string;
  image: string;
  isMapped: boolean;
}

export async function install(context: Context, options: Options): Promise<ExitCode> {
  const [word] = options.operands;
  const what = kinds.find((one) => one === word);
  const name = options.text('vcluster-name') ?? context.environment['VCLUSTER_NAME'];
  const namespace = options.text('host-namespace');
  const mistakes = [
    ...(what === undefined ? [unknownKind(word)] : []),
    ...(name === undefined ? [nameless] : wrongName('vcluster-name', name, longestRelease)),
    ...(namespace === undefined ? [] : wrongName('host-namespace', namespace, longestNamespace)),
  ];
  if (what === undefined || name === undefined || mistakes.length > 0) throw usageFault(mistakes);
  const image = options.text('image') ?? `hostward:${context.version}`;
  const names = { name, namespace: namespace ?? `vcluster-${name}`, image, isMapped: options.has('mapped') };
  context.stdout.write(await textOf(context, what, names));
  return exitCodes.fine;
}

interface Mistake {
  sentence: string;
  hint?: string;
}

const nameless: Mistake = {
  sentence: 'the name of the virtual cluster is not given',
  hint: 'give --vcluster-name: the release name of its chart, which helm list shows',
};

function unknownKind(given: string | undefined): Mistake {
  const near = given === undefined ? undefined : nearestKey(given, kinds);
  const found = given === undefined ? 'nothing' : `"${given}"`;
  return {
    sentence: `hostward install wants values, manifests or chart-values, found ${found}`,
    hint: near === undefined ? 'see hostward install --help' : `did you mean "${near}"? See hostward install --help`,
  };
}

function wrongName(option: string, name: string, longest: number): Mistake[] {
  if (dnsLabel.test(name) && name.length <= longest) return [];
  const wanted = `lower-case letters, digits and "-", at most ${longest} characters`;
  return [{ sentence: `--${option} wants ${wanted}, found "${name}"` }];
}

/** Names every mistake: whoever corrects one should not meet the next one. */
function usageFault(mistakes: readonly Mistake[]): CommandFault {
  const [only] = mistakes;
  if (only !== undefined && mistakes.length === 1) {
    const { sentence, hint } = only;
    return new CommandFault(exitCodes.usage, sentence, hint === undefined ? {} : { hint });
  }
  const details = mistakes.map(({ sentence, hint }) => (hint === undefined ? sentence : `${sentence}; ${hint}`));
  const message = `the command line has ${mistakes.length} faults`;
  return new CommandFault(exitCodes.usage, message, { details, shown: details });
}

async function textOf(context: Context, what: What, names: Names): Promise<string> {
  const sample = async (file: string) =>
    filledIn(await context.files.read(join(context.packageFolder, 'config', file)), names);
  switch (what) {
    case 'values':
      return sample('sidecar-values.yaml');
    case 'manifests':
      return [await sample(names.isMapped ? 'cluster-role.yaml' : 'role.yaml'), await sample('deployment.yaml')].join(
        '---\n',
      );
    case 'chart-values':
      return chartValues(names);
    default:
      return what satisfies never;
  }
}

/** One pass replaces all names: one contains the other, so a second pass would replace parts of the first one's results. */
function filledIn(text: string, { name, namespace, image }: Names): string {
  const names = new RegExp(`${sampleNamespace}|${sampleName}`, 'g');
  return text
    .replace(names, (found) => (found === sampleNamespace ? namespace : name))
    .replace(sampleImage, () => `image: ${image}`);
}

function chartValues({ name, namespace, image }: Names): string {
  const [, repository = image, tag, digest] = /^(.*?)(?::([^:/@]+))?(?:@(sha256:[0-9a-f]{64}))?$/.exec(image) ?? [];
  const lines = [
    `# helm install hostward config/chart -n ${namespace} -f THIS-FILE`,
    'image:',
    `  repository: ${repository}`,
    ...(tag === undefined ? [] : [`  tag: ${JSON.stringify(tag)}`]),
    ...(digest === undefined ? [] : [`  digest: ${digest}`]),
    'sync:',
    '  vcluster:',
    `    name: ${name}`,
    '  # What is below sync.toHost in the vcluster.yaml: patches, namespaces, secrets, configMaps.',
    '  toHost: {}',
  ];
  return `${lines.join('\n')}\n`;
}
