// Takes user names and passwords out of URLs that a message or a log line is about to show. Pure.

/** Of a text that should be a URL, and may be half of one: everything in front of its last @ may be a password. */
export function urlWithoutUser(url: string): string {
  const end = url.lastIndexOf('@');
  if (end < 0) return url;
  return `${/^[a-z][a-z0-9+.-]*:\/\//i.exec(url.slice(0, end))?.[0] ?? ''}…${url.slice(end)}`;
}

const scheme = '://';

/** Of a text with URLs in it. `stars` keeps every character in its column. */
export function textWithoutUsers(text: string, hide: 'cut' | 'stars' = 'cut'): string {
  if (!text.includes(scheme) || !text.includes('@')) return text;
  return text.replace(/\S+/g, (word) => {
    const start = word.indexOf(scheme) + scheme.length;
    const end = word.lastIndexOf('@');
    if (start < scheme.length || end < start) return word;
    return `${word.slice(0, start)}${hide === 'stars' ? '*'.repeat(end - start) : '…'}${word.slice(end)}`;
  });
}
