// Encodes the continue token of a paged list: the revision of the first page and the last key that the page returned. The
// token has the shape of the real server's token; clients must treat the token as opaque. A tenant may have it sealed.
import { timingSafeEqual } from 'node:crypto';
import { isRecord } from '../../object/text/json.ts';
import type { Call } from '../kinds/kit.ts';
import { badRequest } from '../request/status-fault.ts';

export interface ContinueToken {
  /** -1 = continue at the present revision, after an expired token. */
  revision: number;
  /** The last returned key, without the prefix of the list. */
  after: string;
}

/** What binds a token to its list and its caller; undefined = tokens are not sealed, as those of the real server. */
export type Seal = (start: string) => string;

export function sealOf({ kit, kind, target, user }: Pick<Call, 'kit' | 'kind' | 'target' | 'user'>): Seal | undefined {
  const { pageSeal } = kit;
  return pageSeal && ((start) => pageSeal(user, `${kind.storage} ${target.namespace} ${start}`));
}

export function encodeContinue({ revision, after }: ContinueToken, seal?: Seal): string {
  const start = `${after}\u0000`;
  const sealed = seal && { seal: seal(`${revision} ${start}`) };
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start, ...sealed })).toString('base64url');
}

export function decodeContinue(token: string, seal?: Seal): ContinueToken {
  const bytes = Buffer.from(token, 'base64url');
  const value = parse(bytes.toString());
  if (!isRecord(value)) {
    throw badRequest(`invalid continue token: continue key is not valid: ${notJson(bytes)}`);
  }
  const { v, rv, start } = value;
  if (v !== 'meta.k8s.io/v1')
    throw badRequest('invalid continue token: continue key is not valid: unrecognized version');
  const isWhole = typeof rv === 'number' && Number.isSafeInteger(rv) && (rv > 0 || rv === -1);
  if (!isWhole || typeof start !== 'string') {
    throw badRequest('invalid continue token: continue key is not valid: incorrect start or revision');
  }
  if (/(^|\/)\.\.?(\/|$)/.test(start)) throw badRequest(`invalid continue token: continue key is not valid: ${start}`);
  if (seal !== undefined && !isSame(value['seal'], seal(`${rv} ${start}`)))
    throw badRequest(
      'invalid continue token: continue key is not valid: want the token of the page before, made for the same caller and the same list',
    );
  return { revision: rv, after: start.slice(0, start.endsWith('\0') ? -1 : undefined) };
}

function isSame(found: unknown, wanted: string): boolean {
  return (
    typeof found === 'string' &&
    found.length === wanted.length &&
    timingSafeEqual(Buffer.from(found), Buffer.from(wanted))
  );
}

function notJson(bytes: Buffer): string {
  const first = bytes[0];
  if (first === undefined) return 'unexpected end of JSON input';
  const shown =
    first < 0x7f && first >= 0x20 ? String.fromCharCode(first) : `\\u${first.toString(16).padStart(4, '0')}`;
  return `invalid character '${shown}' looking for beginning of value`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
