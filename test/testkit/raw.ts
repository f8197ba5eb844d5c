import { connect } from 'node:net';
import type { Reply } from './client.ts';

/** Sends these bytes as they are to a port of this machine and reads what comes until the other side closes. */
export async function sendRaw(port: number, request: string | Buffer): Promise<Reply> {
  const text = await new Promise<string>((resolve, reject) => {
    const received: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.setTimeout(10_000, () => socket.destroy(new Error('no answer within 10 s')));
    socket.on('data', (chunk) => received.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(received).toString()));
  });
  const [head = '', body = ''] = text.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Headers(lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]));
  const story = `${JSON.stringify(request.toString().slice(0, 300))} → ${text.slice(0, 900)}`;
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    body: body !== '' && headers.get('content-type')?.includes('json') ? JSON.parse(body) : body,
    story,
  };
}
