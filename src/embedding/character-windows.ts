/** How far before its end a window may end at white space instead, as a share of the window. */
const SEARCHED = 0.2;

/** Cuts a text into windows of at most `size` UTF-16 units: at white space where there is some near the end, and never within a character. */
export function cutIntoWindows(text: string, size: number): string[] {
  const windows: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = endOf(text, start, size);
    windows.push(text.slice(start, end));
    start = end;
  }
  return windows.length > 0 ? windows : [''];
}

function endOf(text: string, start: number, size: number): number {
  const limit = start + size;
  if (limit >= text.length) return text.length;
  for (let at = limit; at > limit - size * SEARCHED; at--) if (/\s/.test(text[at]!)) return at;
  const isLowSurrogate = text.charCodeAt(limit) >= 0xdc00 && text.charCodeAt(limit) <= 0xdfff;
  return isLowSurrogate ? limit - 1 : limit;
}
