// Forms that matter only in front of a cluster behind the server: words that the proxy must not pass on, and words that change what is asked. Written from
// DESIGN-management 4.2 to 4.4 alone.
import type { MatrixRequest } from '../../matrix-case.ts';
import { type Form, forms, type Sent } from './forms.ts';
import { upgradedForms } from './upgraded-forms.ts';

const withHeaders = (sent: Sent, ...more: [string, string][]): Sent => ({
  ...sent,
  headers: [...sent.headers, ...more],
});
const withQuery = (sent: Sent, words: string): Sent => ({
  ...sent,
  target: `${sent.target}${sent.target.includes('?') ? '&' : '?'}${words}`,
});
const isList = ({ method, target }: Sent) => method === 'GET' && !target.includes('watch=');
const ifList = (change: (sent: Sent) => Sent) => (sent: Sent) => (isList(sent) ? change(sent) : undefined);

/** Only of a collection "watch" means anything. */
const asWatch = (request: MatrixRequest): MatrixRequest =>
  request.isResource && request.verb === 'list' ? { ...request, verb: 'watch' } : request;
/** "Any request with `Upgrade` counts as `create`; an upgraded list or watch is 400." */
const asUpgrade = (request: MatrixRequest): MatrixRequest =>
  request.isResource && !['list', 'watch'].includes(request.verb) ? { ...request, verb: 'create' } : request;

export const proxiedForms: readonly Form[] = [
  ...forms.filter(({ name }) => !name.includes('upgrade')),
  ...upgradedForms,
  {
    name: 'a claim to be somebody else',
    means: 'refused',
    apply: (sent) => withHeaders(sent, ['Impersonate-User', 'hostward:user:admin']),
  },
  {
    name: 'a claim to be in a group',
    means: 'refused',
    apply: (sent) => withHeaders(sent, ['Impersonate-Group', 'system:masters']),
  },
  {
    name: 'a claim that an underscore hides',
    means: 'notMore',
    apply: (sent) => withHeaders(sent, ['Impersonate_User', 'admin'], ['Impersonate_Extra_a', 'b']),
  },
  {
    name: 'a cookie, and a header of this connection',
    means: 'same',
    apply: (sent) => withHeaders(sent, ['Cookie', 'a=b'], ['X-Named', 'yes'], ['Connection', 'x-named']),
  },
  {
    name: 'claims of a proxy in front',
    means: 'same',
    apply: (sent) =>
      withHeaders(
        sent,
        ['X-Forwarded-User', 'admin'],
        ['X_Remote_User', 'admin'],
        ['X-Remote-Extra-Scopes', 'all'],
        ['Forwarded', 'for=127.0.0.1'],
      ),
  },
  { name: 'a watch that is false', means: 'same', apply: ifList((sent) => withQuery(sent, 'watch=False')) },
  { name: 'a watch written as 1', means: 'same', asks: asWatch, apply: ifList((sent) => withQuery(sent, 'watch=1')) },
  {
    name: 'two words about watching',
    means: 'notMore',
    apply: ifList((sent) => withQuery(sent, 'watch=false&watch=true')),
  },
  {
    name: 'an encoded word about watching',
    means: 'notMore',
    asks: asWatch,
    apply: ifList((sent) => withQuery(sent, 'w%61tch=tru%65')),
  },
  {
    name: 'a word to upgrade',
    means: 'notMore',
    asks: asUpgrade,
    apply: (sent) => withHeaders(sent, ['Connection', 'Upgrade'], ['Upgrade', 'websocket']),
  },
  {
    name: 'a word to upgrade to HTTP/2',
    means: 'notMore',
    asks: asUpgrade,
    apply: (sent) =>
      withHeaders(sent, ['Connection', 'Upgrade, HTTP2-Settings'], ['Upgrade', 'h2c'], ['HTTP2-Settings', 'AAMAAABk']),
  },
];
