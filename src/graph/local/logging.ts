/** Bytes and number of the files that each of Neo4j's logs may fill. */
const SIZE = '5 MB';
const KEPT = 3;

/**
 * Neo4j's two Log4j configurations, by their file names, which it reads from its configuration's folder. Its own would keep up to 700 MB, and repeat the
 * user log on standard output, whose file nobody rotates.
 */
export const LOG_CONFIGURATIONS = {
  'user-logs.xml': configuration('neo4j.log', '<PatternLayout pattern="%d{yyyy-MM-dd HH:mm:ss.SSSZ}{GMT+0} %-5p %m%n"/>'),
  'server-logs.xml': configuration(
    'debug.log',
    '<JsonTemplateLayout eventTemplateUri="classpath:org/neo4j/logging/StructuredLayoutWithMessage.json"/>',
  ),
};

function configuration(file: string, layout: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="ERROR">
  <Appenders>
    <RollingRandomAccessFile name="Log" fileName="\${config:server.directories.logs}/${file}" filePattern="$\${config:server.directories.logs}/${file}.%02i">
      ${layout}
      <Policies><SizeBasedTriggeringPolicy size="${SIZE}"/></Policies>
      <DefaultRolloverStrategy fileIndex="min" max="${KEPT}"/>
    </RollingRandomAccessFile>
  </Appenders>
  <Loggers><Root level="info"><AppenderRef ref="Log"/></Root></Loggers>
</Configuration>
`;
}
