// Judges what the files of a configuration hold: kubeconfigs, certificates, keys. In: the texts of the files, and the time. Out: for
// each setting what is wrong. No server is asked, and no plugin of a kubeconfig is run.
import type { X509Certificate } from 'node:crypto';
import { certificatesIn, pairProblem, privateKeyIn, validityProblem } from '../../../apiserver/tls/pem-text.ts';
import { selectIn } from '../../../cluster/credentials/kubeconfig.ts';
import type { NamedFile } from '../../../config/settings/table/named-files.ts';
import { readToken } from '../../../management/keys/secret/token.ts';

/** A file of a setting, or of an option, which has no position. */
export type Wanted = Omit<NamedFile, 'at'> & { at?: NamedFile['at'] };

export interface Problem {
  of: Wanted;
  sentence: string;
  fix: string;
  isWarning: boolean;
}

export interface Surroundings {
  now: Date;
  /** For the files that a kubeconfig names; `found` in words where there is no text, neither for a file of some MiB. */
  readText(file: string): Promise<{ text: string | undefined } | { found: string }>;
}

/** `of` where another setting than the judged one is wrong. */
type Said = Omit<Problem, 'of'> & { of?: Wanted };

export async function contentProblems(
  wanted: readonly Wanted[],
  texts: ReadonlyMap<string, string>,
  around: Surroundings,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const of of wanted) {
    const text = texts.get(of.file);
    if (text === undefined) continue;
    const said = of.holds === 'private-key' ? keyProblems(of, text, wanted, texts) : await judge(of, text, around);
    problems.push(...said.map((one) => ({ of, ...one })));
  }
  return problems;
}

async function judge({ holds, file }: Wanted, text: string, around: Surroundings): Promise<Said[]> {
  switch (holds) {
    case 'kubeconfig':
      return kubeconfigProblems(file, text, around);
    case 'certificate':
    case 'authorities':
      return certificateProblems(text, around.now, nameFix);
    case 'access-key':
      return accessKeyProblems(text);
    default:
      return [];
  }
}

const nameFix = 'name another file, or write the right one there';

function wrong(sentence: string, fix = nameFix): Said[] {
  return [{ sentence, fix, isWarning: false }];
}

function certificateProblems(text: string, now: Date, fix: string, what = 'the certificate'): Said[] {
  const read = certificatesIn(text);
  return read.kind === 'wrong' ? wrong(read.sentence, fix) : datesOf(read.value, now, what);
}

/** A warning: it may be renewed before the start, and a machine's clock may be wrong. */
function datesOf(certificates: readonly X509Certificate[], now: Date, what: string): Said[] {
  return certificates.flatMap((certificate, at) => {
    const problem = validityProblem(certificate, now);
    const name = certificates.length === 1 ? what : `${what} ${at + 1} of ${certificates.length}`;
    return problem === undefined ? [] : [{ sentence: `${name} ${problem}`, fix: 'renew it', isWarning: true }];
  });
}

/** A key belongs to the certificate next to it. */
function keyProblems(of: Wanted, text: string, wanted: readonly Wanted[], texts: ReadonlyMap<string, string>): Said[] {
  const read = privateKeyIn(text);
  if (read.kind === 'wrong') return wrong(read.sentence);
  const certificate = wanted.find(({ path }) => path === of.path.replace(/\.key$/, '.certificate'));
  const certificatePem = certificate && texts.get(certificate.file);
  // A file that is no certificate is reported at its own setting.
  if (certificatePem === undefined || certificatesIn(certificatePem).kind === 'wrong') return [];
  const problem = pairProblem(certificatePem, text, certificate?.file ?? '');
  if (problem === undefined) return [];
  const fix = 'name the two files of one pair';
  if (problem.member === 'key' || certificate === undefined) return wrong(problem.sentence, fix);
  const first = 'put the certificate of the server before those of its authorities';
  return wrong(problem.sentence, first).map((one) => ({ ...one, of: certificate }));
}

async function kubeconfigProblems(file: string, text: string, around: Surroundings): Promise<Said[]> {
  const found = await selectIn(file, text);
  const prefix = `reading kubeconfig "${file}": `;
  if (found.kind === 'faults')
    return found.faults.flatMap(({ message, fix }) => wrong(message.replace(prefix, ''), fix));
  const { cluster, user, rawUser } = found.selected;
  const { readText, now } = around;
  const said: Said[] = [];
  const pem = async (what: string, data: string | undefined, path: unknown): Promise<string | undefined> => {
    if (data) return Buffer.from(data, 'base64').toString('utf8');
    if (typeof path !== 'string' || path === '') return undefined;
    const read = await readText(path);
    if ('text' in read) return read.text;
    said.push(...wrong(`wanted its ${what} in the file "${path}", found ${read.found}`, 'correct the path in it'));
    return undefined;
  };
  const caPem = await pem('CA certificate', cluster.caData, cluster.caFile);
  const certPem = await pem('client certificate', user.certData, user.certFile);
  const keyPem = await pem('client key', user.keyData, user.keyFile);
  await pem('token', undefined, rawUser['tokenFile']);
  const named = (what: string, problems: Said[]) =>
    problems.map((one) => ({ ...one, sentence: one.isWarning ? one.sentence : `its ${what}: ${one.sentence}` }));
  const fix = 'get a new kubeconfig from its cluster';
  if (caPem !== undefined)
    said.push(...named('CA certificate', certificateProblems(caPem, now, fix, 'its CA certificate')));
  if (certPem !== undefined)
    said.push(...named('client certificate', certificateProblems(certPem, now, fix, 'its client certificate')));
  const isKeyless = certPem !== undefined && !user.keyData && user.keyFile === undefined;
  if (isKeyless) said.push(...wrong('wanted a client key for its client certificate, found none', fix));
  said.push(...clientKeyProblems(certPem, keyPem, fix));
  return said;
}

function clientKeyProblems(certPem: string | undefined, keyPem: string | undefined, fix: string): Said[] {
  if (keyPem === undefined) return [];
  const key = privateKeyIn(keyPem);
  if (key.kind === 'wrong') return wrong(`its client key: ${key.sentence}`, fix);
  if (certPem === undefined || certificatesIn(certPem).kind === 'wrong') return [];
  const isOther = pairProblem(certPem, keyPem, '') !== undefined;
  return isOther ? wrong('its client key: wanted the key of its client certificate, found another', fix) : [];
}

function accessKeyProblems(text: string): Said[] {
  const key = text.trim();
  const isOneWord = /^\S+$/.test(key);
  if (isOneWord && readToken(key).kind !== 'malformed') return [];
  const found = isOneWord ? 'one that is cut or mistyped' : key === '' ? 'an empty file' : 'a text with blanks';
  return wrong(`wanted the value of an access key, found ${found}`, 'write the value into it as it was printed');
}
